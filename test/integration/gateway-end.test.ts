/**
 * The end of the gateway, in order or not: nothing is left in the process table.
 */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import {
  descendants,
  isAlive,
  serverProcesses,
  waitGone,
  watcherOf,
} from '../support/processes.ts';
import { ROOT } from '../support/root.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { hasMethod, textOf } from '../support/wire-message.ts';
import { WsClient } from '../support/ws-client.ts';

const SESSION = { sharing: 'session' };
const TERM_BIT = 1n << 14n;

/** A gateway with a server that only KILL ends, and the processes of that server. */
async function startStubborn(): Promise<{ gateway: Gateway; group: number[] }> {
  const stubborn = scriptedServer({ args: ['--ignore-eof', '--ignore-term', '--grandchild'] });
  const gateway = await startGateway({ ownProcess: true, servers: { stubborn: stubborn.config } });
  await until(() => serverProcesses(gateway.pid).length >= 2);
  return { gateway, group: serverProcesses(gateway.pid).map(({ pid }) => pid) };
}

function ignoresTerm(pid: number): boolean {
  const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return (BigInt(`0x${mask ?? '0'}`) & TERM_BIT) !== 0n;
}

describe('the end of the gateway', () => {
  it('by TERM leaves nothing, with calls in flight, hung and stubborn servers, grandchildren', async () => {
    const hung = scriptedServer({ args: ['--grandchild'] });
    const stubborn = scriptedServer({
      args: ['--ignore-eof', '--ignore-term', '--grandchild'],
      config: { timeouts: { stop: '300ms' } },
    });
    const own = scriptedServer({ config: SESSION });
    const gateway = await startGateway({
      ownProcess: true,
      servers: { hung: hung.config, stubborn: stubborn.config, own: own.config },
      config: { drain: '300ms' },
    });
    const ws = await WsClient.connect(gateway.endpoint('hung', 'ws'));
    await ws.initialize();
    const ofOwn = await WsClient.connect(gateway.endpoint('own', 'ws'));
    await ofOwn.initialize();
    const answer = ws.call('hang', {});
    await until(() => serverProcesses(gateway.pid).length >= 5);
    const left = descendants(gateway.pid).map(({ pid }) => pid);
    const stopped = gateway.stop();
    const { error } = await answer;
    expect(error).toMatchObject({ code: -32603, data: { outcome: 'unknown' } });
    expect(await ws.closed).toBe(1012);
    expect(await stopped).toEqual({ code: 0, signal: null });
    expect(left.filter(isAlive)).toEqual([]);
  });

  it('by TERM while servers start leaves nothing', async () => {
    const slow = scriptedServer({ args: ['--init-delay', '60000'] });
    const gateway = await startGateway({
      ownProcess: true,
      servers: { one: slow.config },
      waitReady: false,
    });
    await slow.journal.waitFor(hasMethod('initialize'));
    expect(await gateway.stop()).toEqual({ code: 0, signal: null });
    await waitGone(slow.journal.starts);
  });

  it('by TERM lets calls in flight end first', async () => {
    const one = scriptedServer();
    const gateway = await startGateway({ ownProcess: true, servers: { one: one.config } });
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
    const gateway = await startGateway({
      ownProcess: true,
      servers: { one: one.config, own: own.config },
    });
    const ws = await WsClient.connect(gateway.endpoint('own', 'ws'));
    await ws.initialize();
    expect(serverProcesses(gateway.pid).length).toBeGreaterThanOrEqual(2);
    await gateway.kill();
    await waitGone([...one.journal.starts, ...own.journal.starts]);
  });

  it('by KILL ends servers that ignore EOF and TERM, and what they started', async () => {
    const { gateway, group } = await startStubborn();
    await gateway.kill();
    expect(group.filter(isAlive)).toEqual([]);
  });

  it('by KILL does so whatever happened to the watcher before', async () => {
    const { gateway, group } = await startStubborn();
    const first = watcherOf(gateway.pid)?.pid ?? 0;
    process.kill(first, 'SIGKILL');
    const second = await until(() => {
      const watcher = watcherOf(gateway.pid);
      return watcher?.pid === first ? undefined : watcher;
    });
    // It has nothing to tell when it is ready for signals, but for what the system knows of it.
    await until(() => ignoresTerm(second.pid));
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const) {
      process.kill(second.pid, signal);
    }
    await gateway.kill();
    expect(group.filter(isAlive)).toEqual([]);
  });

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'comes with the end of npm start, by %s',
    async (signal) => {
      const one = scriptedServer();
      const file = join(tempDir(), 'sluice.yaml');
      // Somebody else's ports, which the command line puts right.
      const listen = { port: 1 };
      writeFileSync(file, JSON.stringify({ listen, admin: listen, servers: { one: one.config } }));
      const flags = ['--config', file, '--port', '0', '--admin-port', '0'];
      // Without what comes before a start: tests install nothing.
      const npm = spawn('npm', ['start', '--ignore-scripts', '--', ...flags], {
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
