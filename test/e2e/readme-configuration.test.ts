/**
 * The commands and the configuration of the README, copied into a fresh folder: they work as printed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { blocksOf, readmeConfiguration } from '../support/doc-blocks.ts';
import { LegacySession } from '../support/legacy-session.ts';
import { descendants, waitGone } from '../support/processes.ts';
import { ROOT } from '../support/root.ts';
import { StdioClient } from '../support/stdio-client.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { runInBash } from './readme-blocks.ts';

/** The shipped ports may be taken on this machine. */
const FREE_PORTS = 'listen: { port: 0 }\nadmin: { port: 0 }\n';

let running: ChildProcess | undefined;

afterEach(async () => {
  const pid = running?.pid;
  if (running === undefined || pid === undefined) return;
  const pids = descendants(pid).map((info) => info.pid);
  const exit = once(running, 'exit');
  if (running.exitCode === null && running.signalCode === null) {
    process.kill(-pid, 'SIGINT');
    await exit;
  }
  running = undefined;
  await waitGone(pids);
});

/** A folder that looks like a clone, with a `sluice.yaml` in it. */
function clone(configuration: string): string {
  const folder = tempDir();
  for (const name of ['src', 'node_modules', 'package.json']) {
    symlinkSync(join(ROOT, name), join(folder, name));
  }
  writeFileSync(join(folder, 'sluice.yaml'), configuration);
  return folder;
}

/** The README's command with these words. */
function commandWith(words: string): string {
  const lines = blocksOf('README.md')
    .filter(({ info }) => info === 'sh')
    .flatMap(({ body }) => body.split('\n'));
  const line = lines.find((one) => one.includes(`src/main.ts ${words}`));
  if (line === undefined) throw new Error(`the README has no command with ${words}`);
  return line.replace(/\s+#.*$/, '');
}

/** Starts a gateway with a command, and waits until its servers had their first start. */
async function start(command: string, cwd: string): Promise<string> {
  const child = spawn('/bin/bash', ['-c', `exec ${command}`], {
    cwd,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  running = child;
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const isReady = () => log.includes('"msg":"ready"') || child.exitCode !== null;
  await until(isReady, { what: 'the gateway to be ready', timeoutMs: 50_000 });
  const url = /"url":"(http:[^"]+)"/.exec(
    log.split('\n').find((line) => line.includes('"listener":"public"')) ?? '',
  )?.[1];
  if (url === undefined) throw new Error(`the gateway did not start:\n${log}`);
  return url;
}

async function toolsAt(url: string, headers: Record<string, string> = {}): Promise<string[]> {
  const session = await LegacySession.open(url, { headers });
  const { result } = await session.request('tools/list');
  await session.close();
  const tools = (result?.['tools'] ?? []) as readonly { readonly name: string }[];
  return tools.map(({ name }) => name);
}

it('the configuration is good, and serves its servers', async () => {
  const folder = clone(`${readmeConfiguration()}${FREE_PORTS}`);
  const said = await runInBash(`${commandWith('check')} 2>&1`, folder);
  expect(said).not.toMatch(/\((warning|note)\)/);
  const url = await start(commandWith('serve'), folder);
  // Servers that npx has to find first may come late; the gateway is ready without them after 5 s.
  await until(async () => {
    const tools = await toolsAt(`${url}/mcp`);
    return tools.includes('files__list_directory') && tools.includes('memory__read_graph');
  });
}, 120_000);

it('the configuration takes the other parts that the README shows', async () => {
  const parts = blocksOf('README.md').filter(({ info }) => info === 'yaml');
  expect(parts.length).toBeGreaterThan(2);
  const folder = clone([...parts.map(({ body }) => body), FREE_PORTS].join(''));
  const key = (await runInBash(commandWith('keys add'), folder)).trim().split(/\s+/).at(-1) ?? '';
  await runInBash(commandWith('check'), folder);
  const url = await start(commandWith('serve'), folder);
  const names = await toolsAt(`${url}/servers/files/mcp`, { authorization: `Bearer ${key}` });
  expect(names).toContain('read_file');
  expect(names).not.toContain('write_file');
}, 120_000);

it('one server is run without a configuration, and reached by connect', async () => {
  const folder = clone('');
  const url = await start(commandWith('run').replace('--port 8081', '--port 0'), folder);
  expect(await toolsAt(`${url}/mcp`)).toContain('read_graph');
  const connect = commandWith('connect').replace(/http:\S+/, `${url}/mcp`);
  const host = new StdioClient({
    command: '/bin/bash',
    args: ['-c', `cd '${folder}' && exec ${connect}`],
  });
  const answer = await host.request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'host', version: '1' },
  });
  expect(answer.result).toBeDefined();
  await host.close();
}, 120_000);
