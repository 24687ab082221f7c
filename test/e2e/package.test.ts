/**
 * The package as somebody installs it: packed from a clone without a build, unpacked into an empty folder
 * where only its own dependencies are, and started by the command that npm links. Nothing is downloaded.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { LegacySession } from '../support/legacy-session.ts';
import { ROOT } from '../support/root.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { textOf } from '../support/wire-message.ts';

const LEFT_OUT = new Set(['.git', 'node_modules', 'dist', 'coverage', 'tmp', '.bench']);
const { version, dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  version: string;
  dependencies: Record<string, string>;
};
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

/** What npm does, without its registry. */
function install(file: string): string {
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', file, '-C', installed, '--strip-components=1']);
  for (const name of Object.keys(dependencies)) {
    symlinkSync(join(ROOT, 'node_modules', name), join(app, 'node_modules', name));
  }
  const command = join(app, 'bin', 'sluice');
  mkdirSync(dirname(command));
  symlinkSync(join(installed, 'bin', 'sluice.js'), command);
  chmodSync(command, 0o755);
  return command;
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

it('serves, as the gateway is to be run', async () => {
  const one = scriptedServer();
  const [program = '', ...args] = [one.config['command'], one.config['args']].flat().map(String);
  const flags = ['--port', '0', '--admin-port', '0'];
  const child = spawn(command, ['run', ...flags, '--', program, ...args], {
    cwd: app,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const ended = once(child, 'exit');
  try {
    await until(() => log.includes('"msg":"ready"'), { timeoutMs: 60_000 });
    const words = readFileSync(`/proc/${child.pid}/cmdline`, 'utf8').split('\0');
    expect(words).toContain('--disable-sigusr1');
    const variables = readFileSync(`/proc/${child.pid}/environ`, 'utf8').split('\0');
    expect(variables).toContain('MALLOC_ARENA_MAX=2');
    expect(variables).toContain('MALLOC_TRIM_THRESHOLD_=131072');
    const [, url] = /"listener":"public","url":"([^"]+)"/.exec(log) ?? [];
    const session = await LegacySession.open(`${url}/mcp`);
    expect(textOf(await session.call('echo', { a: 1 }))).toBe('{"a":1}');
  } finally {
    child.kill('SIGTERM');
  }
  expect(await ended).toEqual([0, null]);
}, 120_000);
