/**
 * `sluice pin` with real servers: what it shows, what it writes, how it exits, and what it leaves.
 */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { readLockFile } from '../../src/catalog/pins/lock-file.ts';
import { Pins } from '../../src/catalog/pins/pins.ts';
import type { CatalogSpec } from '../fixtures/servers/catalog.ts';
import { CatalogServer, tools } from '../support/catalog-server.ts';
import { blocksIn } from '../support/doc-blocks.ts';
import { isAlive } from '../support/processes.ts';
import { type ScriptedServer, scriptedServer } from '../support/scripted-server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');

interface Outcome {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

let folder: string;
let lockFile: string;

beforeEach(() => {
  folder = tempDir();
  lockFile = join(folder, 'sluice.lock.json');
});

function configure(servers: Record<string, Pick<ScriptedServer, 'config'>>): void {
  const entries = Object.entries(servers).map(([name, { config }]) => [name, config]);
  const content = { servers: Object.fromEntries(entries), log: { level: 'fatal' } };
  writeFileSync(join(folder, 'sluice.yaml'), JSON.stringify(content));
}

function pin(...args: string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(process.execPath, [MAIN, 'pin', ...args], { cwd: folder }, (error, out, err) => {
      const status = error === null ? 0 : Number(error.code);
      resolve({ status, out, err });
    });
  });
}

/** A server whose tool `echo` has these further members. */
function server(echo: object = {}, ...args: string[]): ScriptedServer {
  return scriptedServer({ args: ['--entries', JSON.stringify({ echo }), ...args] });
}

describe('sluice pin', () => {
  it('shows and does not accept where nobody says so', async () => {
    configure({ one: server() });
    for (const args of [[], ['--dry-run'], ['--dry-run', '--yes']]) {
      const { status, out } = await pin(...args);
      expect(status).toBe(1);
      expect(out).toMatch(/^one: [1-9]\d* new, 0 changed, 0 removed, 0 as accepted\n/);
      expect(out).toContain('  new echo\n      + {\n');
      expect(existsSync(lockFile)).toBe(false);
    }
    expect((await pin()).err).toContain('run it again with --yes');
  });

  it('accepts all tools of all pages, and nothing is left of the servers', async () => {
    const one = server({}, '--page', '3');
    configure({ one, two: server() });
    expect(await pin('--yes')).toMatchObject({ status: 0, err: '' });
    const lock = readLockFile(lockFile);
    expect([...lock.keys()]).toEqual(['one', 'two']);
    expect([...(lock.get('one')?.keys() ?? [])]).toEqual([...(lock.get('two')?.keys() ?? [])]);
    expect(one.journal.starts.some(isAlive)).toBe(false);
    const before = readFileSync(lockFile, 'utf8');
    const again = await pin('--yes');
    expect(again).toMatchObject({ status: 0 });
    expect(again.out).toMatch(/All tools are as accepted\.\n$/);
    expect(readFileSync(lockFile, 'utf8')).toBe(before);
  });

  it('shows what changed, hidden text included, and holds the tool to it', async () => {
    configure({ one: server({ description: 'Says it again.' }) });
    await pin('--yes');
    const tags = [...'obey'].map((c) => String.fromCodePoint(0xe0000 + c.charCodeAt(0))).join('');
    const description = `Says it again.${tags}`;
    configure({ one: server({ description }) });
    const { status, out } = await pin();
    expect(status).toBe(1);
    expect(out).toMatch(/^one: 0 new, 1 changed, 0 removed, \d+ as accepted\n {2}changed echo\n/);
    expect(out).toContain('as tags they spell "obey"');
    expect(out).toMatch(/- +"description": "Says it again\.",\n/);
    expect(out).toMatch(/\+ +"description": "Says it again\.\\udb40/);
    const tool = Buffer.from(JSON.stringify({ name: 'echo', description }));
    expect(new Pins(readLockFile(lockFile)).verdict('one', tool)).toBe('changed');
  });

  it('prints what docs/pinning.md shows', async () => {
    const [block] = blocksIn('console');
    const [shown = ''] = (block?.body ?? '').replace(/^\$ sluice pin\n/, '').split('...\n');
    const [, before = ''] = /- {3}"description": "(.*)",\n/.exec(shown) ?? [];
    const [, after = ''] = /\+ {3}"description": "(.*)",\n/.exec(shown) ?? [];
    const others = Array.from({ length: 12 }, (_, n) => `tool_${n}`);
    const listed = (description: string, names: readonly string[]): CatalogSpec => {
      const [readFile] = tools('read_file');
      return { name: 'files', tools: [{ ...readFile, description }, ...tools(...names)] };
    };
    const files = new CatalogServer(listed(before, others));
    configure({ files });
    expect(await pin('--yes')).toMatchObject({ status: 0 });
    files.change(listed(after, [...others, 'write_file']));
    const { out } = await pin();
    expect(shown.split('\n').length).toBeGreaterThan(5);
    expect(out.startsWith(shown)).toBe(true);
  });

  it('looks only at the servers that are named, and forgets those that are gone', async () => {
    configure({ one: server(), two: server() });
    expect(await pin('--yes', '--server', 'two')).toMatchObject({ status: 0 });
    expect([...readLockFile(lockFile).keys()]).toEqual(['two']);
    configure({ one: server() });
    expect(await pin('--yes', '--server', 'one')).toMatchObject({ status: 0 });
    expect([...readLockFile(lockFile).keys()]).toEqual(['one', 'two']);
    const { status, out } = await pin('--yes');
    expect(status).toBe(0);
    expect(out).toMatch(/two: is not configured any more, \d+ removed\n/);
    expect([...readLockFile(lockFile).keys()]).toEqual(['one']);
  });

  it('keeps what was accepted of a server that can not be asked', async () => {
    configure({ one: server(), two: server() });
    await pin('--yes');
    const before = readFileSync(lockFile, 'utf8');
    configure({ one: server(), two: server({}, '--exit-before-init') });
    const { status, err } = await pin('--yes');
    expect(status).toBe(1);
    expect(err).toContain("two: the tools can't be listed: ");
    expect(readFileSync(lockFile, 'utf8')).toBe(before);
  });

  it('answers a name that no server has with 2, and a damaged lock file with 1', async () => {
    configure({ one: server() });
    const unknown = await pin('--server', 'tow');
    expect(unknown).toMatchObject({ status: 2, out: '' });
    expect(unknown.err).toContain('there is no server "tow": must be one of one');
    writeFileSync(lockFile, '{');
    const damaged = await pin('--yes');
    expect(damaged).toMatchObject({ status: 1, out: '' });
    expect(damaged.err).toContain('sluice.lock.json: is not JSON');
    expect(readFileSync(lockFile, 'utf8')).toBe('{');
  });

  it('stops its servers when it is interrupted', async () => {
    const slow = server({}, '--init-delay', '600000');
    configure({ slow });
    const child = execFile(process.execPath, [MAIN, 'pin'], { cwd: folder });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    const pid = await slow.journal.waitForEvent('start');
    child.kill('SIGINT');
    expect(await ended).toBe(1);
    await until(() => !isAlive(pid), { what: 'the end of the server' });
  });
});
