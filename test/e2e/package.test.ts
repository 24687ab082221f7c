/**
 * The package as somebody installs it: packed from a clone without a build, installed by npm into an empty
 * folder, and started there by the command that npm links, with the configuration of the README. npm takes
 * what it has in its cache first, and asks the registry that it is configured for otherwise.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { readmeConfiguration } from '../support/doc-blocks.ts';
import { LegacySession } from '../support/legacy-session.ts';
import { descendants, waitGone } from '../support/processes.ts';
import { ROOT } from '../support/root.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const LEFT_OUT = new Set(['.git', 'node_modules', 'dist', 'coverage', 'tmp', '.bench']);
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  version: string;
};
/** What the README's configuration starts with npx, which takes what is installed. */
const SERVERS = ['server-filesystem', 'server-memory'];
const app = tempDir();
const installed = join(app, 'node_modules', 'sluice');
/** Whoever installs it has a Node that is new enough first on PATH. */
const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` };

function pack(): string {
  const clone = join(tempDir(), 'clone');
  cpSync(ROOT, clone, { recursive: true, filter: (path) => !LEFT_OUT.has(basename(path)) });
  // Hard links where they can be, since npm takes symbolic ones for something else.
  const script = 'cp -al "$0/node_modules" "$1" 2>&1 || cp -a "$0/node_modules" "$1"';
  execFileSync('sh', ['-c', script, ROOT, clone], { stdio: 'ignore' });
  // Older than what is installed, so that the set-up has nothing to do.
  utimesSync(join(clone, 'package-lock.json'), 0, 0);
  execFileSync('npm', ['pack', '--offline', '--pack-destination', app], {
    cwd: clone,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return join(app, readdirSync(app).find((name) => name.endsWith('.tgz')) ?? '');
}

/** @returns the command */
function install(file: string): string {
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--prefix', app];
  execFileSync('npm', ['install', ...options, file], {
    cwd: app,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const modules = join(app, 'node_modules');
  mkdirSync(join(modules, '@modelcontextprotocol'), { recursive: true });
  for (const name of SERVERS) {
    const path = `@modelcontextprotocol/${name}`;
    symlinkSync(join(ROOT, 'node_modules', path), join(modules, path));
    const command = join('.bin', `mcp-${name}`);
    symlinkSync(join(ROOT, 'node_modules', command), join(modules, command));
  }
  return join(modules, '.bin', 'sluice');
}

let command = '';
beforeAll(() => {
  command = install(pack());
}, 300_000);

it('has what was built, and no sources', () => {
  const files = readdirSync(installed);
  expect(files.toSorted()).toEqual([
    'LICENSE',
    'README.md',
    'bin',
    'config',
    'dist',
    'package.json',
  ]);
  expect(existsSync(join(installed, 'dist', 'main.js'))).toBe(true);
});

it('says its version', () => {
  const out = execFileSync(command, ['--version'], { cwd: app, env, encoding: 'utf8' });
  expect(out).toBe(`${version}\n`);
});

it('serves the configuration of the README, as the gateway is to be run', async () => {
  writeFileSync(
    join(app, 'sluice.yaml'),
    `${readmeConfiguration()}listen: { port: 0 }\nadmin: { port: 0 }\n`,
  );
  const child = spawn(command, ['serve'], { cwd: app, env, stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const ended = once(child, 'exit');
  let pids: number[] = [];
  try {
    await until(() => log.includes('"msg":"ready"') || child.exitCode !== null, {
      what: 'the gateway to be ready',
      timeoutMs: 60_000,
    });
    const words = readFileSync(`/proc/${child.pid}/cmdline`, 'utf8').split('\0');
    expect(words).toContain('--disable-sigusr1');
    const variables = readFileSync(`/proc/${child.pid}/environ`, 'utf8').split('\0');
    expect(variables).toContain('MALLOC_ARENA_MAX=2');
    expect(variables).toContain('MALLOC_TRIM_THRESHOLD_=131072');
    const [, url] = /"listener":"public","url":"([^"]+)"/.exec(log) ?? [];
    const names = await until(async () => {
      const session = await LegacySession.open(`${url}/mcp`);
      const { result } = await session.request('tools/list');
      await session.close();
      const tools = (result?.['tools'] ?? []) as readonly { readonly name: string }[];
      const all = tools.map(({ name }) => name);
      return all.includes('memory__read_graph') && all.includes('files__list_directory') && all;
    });
    expect(names).toContain('files__read_file');
    pids = descendants(child.pid ?? 0).map(({ pid }) => pid);
    expect(pids.length).toBeGreaterThan(1);
  } finally {
    child.kill('SIGTERM');
  }
  expect(await ended, log).toEqual([0, null]);
  await waitGone(pids);
}, 120_000);
