// The data folder: who may use it, and the keys in it.
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openData } from '../../../src/app/data.ts';
import { DataFolder } from '../../../src/data/data-folder.ts';
import { createLogger } from '../../../src/observe/logger.ts';
import { tempDir } from '../../support/temp-dir.ts';

const OWN = 'a key of the configuration, long enough';
const NO_KEYS = {
  sessions: { idle: 1, maxAge: 1, max: 1, maxPerPrincipal: 1, maxInFlight: 1, keys: [] },
  state: { keys: [], ttl: 1 },
};

let lines: { readonly msg: string; readonly lost?: unknown }[] = [];
const logger = createLogger(
  { level: 'debug', messages: false },
  { write: (text) => void lines.push(JSON.parse(text) as (typeof lines)[number]) },
);
let path = '';
const open: { close(): void }[] = [];

beforeEach(() => {
  lines = [];
  path = join(tempDir(), 'deep', 'data');
});
afterEach(() => {
  for (const folder of open.splice(0)) folder.close();
});

async function data(
  parts: Partial<Parameters<typeof openData>[0]> = {},
): ReturnType<typeof openData> {
  const opened = await openData({ ...NO_KEYS, data: path, ...parts }, logger);
  if (opened.folder !== undefined) open.push(opened.folder);
  return opened;
}

function modeOf(name: string): string {
  return (statSync(join(path, name)).mode & 0o777).toString(8);
}

describe('the data folder', () => {
  it('is made for its owner alone, with keys that the next process has too', async () => {
    const first = await data();
    expect(first.sessionKeys).toHaveLength(1);
    expect(first.stateKeys).toEqual(first.sessionKeys);
    expect(modeOf('.')).toBe('700');
    expect(readdirSync(path).map(modeOf)).toEqual(readdirSync(path).map(() => '600'));
    open.splice(0);
    first.folder?.close();
    expect((await data()).sessionKeys).toEqual(first.sessionKeys);
    expect(readdirSync(path).filter((name) => name.endsWith('.new'))).toEqual([]);
  });

  it('is closed to others when it was there before', async () => {
    mkdirSync(path, { recursive: true, mode: 0o755 });
    chmodSync(path, 0o755);
    await data();
    expect(modeOf('.')).toBe('700');
  });

  it('is for one process at a time, and free again after it', async () => {
    const first = await DataFolder.open(path, logger);
    await expect(data()).rejects.toThrow(`data is ${path}, which process ${process.pid} uses`);
    // The refused one must not have taken the lock from the first.
    await expect(data()).rejects.toThrow('which process');
    first.close();
    await data();
  });

  it('makes no keys where the configuration has them', async () => {
    const { sessionKeys, stateKeys } = await data({
      sessions: { ...NO_KEYS.sessions, keys: [OWN] },
      state: { ...NO_KEYS.state, keys: [`another: ${OWN}`] },
    });
    expect({ sessionKeys, stateKeys }).toEqual({
      sessionKeys: [OWN],
      stateKeys: [`another: ${OWN}`],
    });
    expect(readdirSync(path)).not.toContain('keys.json');
  });

  it('has keys for what the configuration has none for', async () => {
    const { sessionKeys, stateKeys } = await data({ state: { ...NO_KEYS.state, keys: [OWN] } });
    expect(stateKeys).toEqual([OWN]);
    expect(sessionKeys).not.toEqual([OWN]);
    expect(sessionKeys).toHaveLength(1);
  });

  it.each([
    ['', 'is not JSON'],
    ['{"version":1,"keys":[', 'is not JSON'],
    ['{"version":2,"keys":[]}', 'must be a map with "version": 1'],
    ['{"version":1,"keys":[]}', 'has no key'],
    ['{"version":1,"keys":[{"secret":"short"}]}', 'key 0: must have a "secret"'],
  ])('refuses keys that it can not use: %s', async (text, what) => {
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 'keys.json'), text);
    await expect(data()).rejects.toThrow(what);
    await expect(data()).rejects.toThrow('restore it, or remove it');
    expect(readFileSync(join(path, 'keys.json'), 'utf8')).toBe(text);
    // Nobody keeps the lock.
    writeFileSync(join(path, 'keys.json'), `{"version":1,"keys":[{"secret":"${OWN}"}]}`);
    expect((await data()).sessionKeys).toEqual([OWN]);
  });

  it('says what is in its place', async () => {
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, '');
    await expect(data()).rejects.toThrow('there is a file in its place; must be a folder');
  });

  it('goes without keys that can not be written, and says so', async () => {
    // A folder of that name: the file can't be made.
    mkdirSync(join(path, 'keys.json.new'), { recursive: true });
    expect((await data()).sessionKeys).toHaveLength(1);
    expect(lines.map(({ msg }) => msg)).toContain(
      'data: the keys can not be kept, sessions will end',
    );
  });

  it('is not there without the option, and what is lost is said', async () => {
    const { folder, sessionKeys, stateKeys } = await data({ data: undefined });
    expect({ folder, sessionKeys, stateKeys }).toEqual({
      folder: undefined,
      sessionKeys: [],
      stateKeys: [],
    });
    expect(lines).toMatchObject([
      {
        msg: 'no data folder: not kept over a restart',
        lost: ['sessions', 'states and tasks of clients'],
      },
    ]);
  });
});
