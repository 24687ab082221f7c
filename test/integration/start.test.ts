/** What the command line says at the start, and what it says when the gateway can't start. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { waitGone } from '../support/processes.ts';
import { ROOT } from '../support/root.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { tempDir } from '../support/temp-dir.ts';

interface End {
  readonly code: number | null;
  readonly err: string;
}

const started: ChildProcess[] = [];
afterAll(() => waitGone(started.map(({ pid }) => pid ?? 0)));

/** Runs the program until it ends by itself. */
async function sluice(...args: readonly string[]): Promise<End> {
  const child = spawn(process.execPath, ['src/main.ts', ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  started.push(child);
  let err = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, err };
}

describe('an address that somebody else has', () => {
  const other = createServer();
  let port = 0;
  let file = '';
  beforeAll(async () => {
    await once(other.listen(0, '127.0.0.1'), 'listening');
    port = (other.address() as AddressInfo).port;
    file = join(tempDir(), 'sluice.yaml');
    writeFileSync(file, JSON.stringify({ servers: { one: scriptedServer().config } }));
  });
  afterAll(() => void other.close());

  it.each([
    ['public', ['--admin-port', '0', '--port'], 'listen.port (--port)'],
    ['admin', ['--port', '0', '--admin-port'], 'admin.port (--admin-port)'],
  ])('of the %s listener is named, with the option to change', async (listener, flags, option) => {
    const { code, err } = await sluice('serve', '-c', file, ...flags, String(port));
    expect(code).toBe(1);
    expect(err).toContain(
      `cannot start: the ${listener} listener can't listen on 127.0.0.1:${port}: another process uses it: stop that process, or change ${option}`,
    );
    expect(err).not.toMatch(/\n\s+at |stack/);
  });
});

describe('sluice run', () => {
  it('ends with 1 when the server was never ready in five tries, and says why', async () => {
    const script = 'echo "DATABASE_URL is not set" >&2; exit 3';
    const flags = ['--port', '0', '--admin-port', '0'];
    const { code, err } = await sluice('run', ...flags, '--', 'sh', '-c', script);
    expect(code).toBe(1);
    expect(err).toContain('the server was never ready in 5 tries: exit_3; it last said: DATABASE');
    expect(err).not.toMatch(/\n\s+at |"stack"/);
  });
});

it('sluice serve goes on without its server', async () => {
  const one = scriptedServer({ args: ['--fail-starts', '6'] });
  const gateway = await startGateway({
    ownProcess: true,
    servers: { one: one.config },
    waitReady: false,
  });
  await gateway.waitForLog(({ msg }) => msg === 'server ready', 60_000);
  expect(await gateway.stop()).toEqual({ code: 0, signal: null });
});
