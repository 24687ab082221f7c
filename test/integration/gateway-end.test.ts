/**
 * The end of the gateway, in order or not: nothing is left in the process table.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, startGateway } from '../support/gateway.ts';
import { descendants, isAlive, waitGone } from '../support/processes.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { hasMethod, textOf } from '../support/wire-message.ts';
import { WsClient } from '../support/ws-client.ts';

const SESSION = { sharing: 'session' };

describe('the end of the gateway', () => {
  it('by TERM leaves nothing, with calls in flight, hung and stubborn servers, grandchildren', async () => {
    const hung = scriptedServer({ args: ['--grandchild'] });
    const stubborn = scriptedServer({
      args: ['--ignore-eof', '--ignore-term', '--grandchild'],
      config: { timeouts: { stop: '300ms' } },
    });
    const own = scriptedServer({ config: SESSION });
    const gateway = await startGateway({
      servers: { hung: hung.config, stubborn: stubborn.config, own: own.config },
      config: { drain: '300ms' },
    });
    const ws = await WsClient.connect(gateway.endpoint('hung', 'ws'));
    await ws.initialize();
    const ofOwn = await WsClient.connect(gateway.endpoint('own', 'ws'));
    await ofOwn.initialize();
    const answer = ws.call('hang', {});
    await until(() => descendants(gateway.pid).length >= 5);
    const left = descendants(gateway.pid).map(({ pid }) => pid);
    const stopped = gateway.stop();
    const { error } = await answer;
    expect(error).toMatchObject({ code: -32603, data: { outcome: 'unknown' } });
    expect(await ws.closed).toBe(1001);
    expect(await stopped).toEqual({ code: 0, signal: null });
    expect(left.filter(isAlive)).toEqual([]);
  });

  it('by TERM while servers start leaves nothing', async () => {
    const slow = scriptedServer({ args: ['--init-delay', '60000'] });
    const gateway = await startGateway({ servers: { one: slow.config }, waitReady: false });
    await slow.journal.waitFor(hasMethod('initialize'));
    expect(await gateway.stop()).toEqual({ code: 0, signal: null });
    await waitGone(slow.journal.starts);
  });

  it('by TERM lets calls in flight end first', async () => {
    const one = scriptedServer();
    const gateway = await startGateway({ servers: { one: one.config } });
    const ws = await WsClient.connect(gateway.endpoint('one', 'ws'));
    await ws.initialize();
    const answer = ws.call('slow', { ms: 500, v: 'done' });
    await one.journal.waitFor(({ raw }) => raw.includes('"slow"'));
    const stopped = gateway.stop();
    expect(textOf(await answer)).toBe('done');
    expect(await stopped).toEqual({ code: 0, signal: null });
  });

  it('by KILL leaves nothing: children see EOF (trial 6)', async () => {
    const one = scriptedServer();
    const own = scriptedServer({ config: SESSION });
    const gateway = await startGateway({ servers: { one: one.config, own: own.config } });
    const ws = await WsClient.connect(gateway.endpoint('own', 'ws'));
    await ws.initialize();
    expect(descendants(gateway.pid).length).toBeGreaterThanOrEqual(2);
    await gateway.kill();
    await waitGone([...one.journal.starts, ...own.journal.starts]);
  });

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'comes with the end of npm start, by %s',
    async (signal) => {
      const one = scriptedServer();
      const file = join(tempDir(), 'sluice.yaml');
      const listen = { port: 0 };
      writeFileSync(file, JSON.stringify({ listen, admin: listen, servers: { one: one.config } }));
      // Without what comes before a start: tests install nothing.
      const npm = spawn('npm', ['start', '--ignore-scripts', '--', '--config', file], {
        cwd: ROOT,
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let log = '';
      npm.stderr.on('data', (chunk: Buffer) => {
        log += chunk.toString('utf8');
      });
      await until(() => log.includes('"msg":"ready"'), { timeoutMs: 60_000 });
      const all = descendants(npm.pid ?? 0).map(({ pid }) => pid);
      expect(all.length).toBeGreaterThanOrEqual(2);
      npm.kill(signal);
      await waitGone(all);
      npm.stderr.destroy();
    },
  );

  it('comes with the end of its launcher, with --exit-with-parent (trial 6)', async () => {
    const one = scriptedServer();
    const file = join(tempDir(), 'sluice.yaml');
    const listen = { port: 0 };
    writeFileSync(file, JSON.stringify({ listen, admin: listen, servers: { one: one.config } }));
    const script = '"$0" src/main.ts serve --config "$1" --exit-with-parent & wait';
    const launcher = spawn('sh', ['-c', script, process.execPath, file], {
      cwd: ROOT,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let log = '';
    launcher.stderr.on('data', (chunk: Buffer) => {
      log += chunk.toString('utf8');
    });
    await until(() => log.includes('"msg":"ready"'), { timeoutMs: 30_000 });
    const all = descendants(launcher.pid ?? 0).map(({ pid }) => pid);
    expect(all.length).toBeGreaterThanOrEqual(2);
    launcher.kill('SIGKILL');
    await waitGone(all);
    launcher.stderr.destroy();
  });
});
