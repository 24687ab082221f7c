// The key file, and the commands that write it.
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { runKeys } from '../../../src/app/keys.ts';
import { hashApiKey, looksLikeApiKey } from '../../../src/auth/api-keys.ts';
import { KeyFileError, readKeyFile } from '../../../src/auth/key-file.ts';
import { KeyRing } from '../../../src/auth/key-ring.ts';
import { createLogger } from '../../../src/observe/logger.ts';
import { tempDir } from '../../support/temp-dir.ts';

let file = '';
beforeEach(() => {
  file = join(tempDir(), 'keys.json');
});

interface Told {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

function keys(action: 'add' | 'list' | 'revoke', rest: object = {}): Told {
  let out = '';
  let err = '';
  const status = runKeys({
    action,
    file,
    id: undefined,
    name: 'ci',
    groups: [],
    scopes: [],
    expires: undefined,
    ...rest,
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
  });
  return { status, out, err };
}

describe('sluice keys', () => {
  it('shows a key once and keeps its hash only', () => {
    const { status, out } = keys('add', { groups: ['g'], scopes: ['s:r'], expires: '90d' });
    const key = out.trim();
    expect(status).toBe(0);
    expect(looksLikeApiKey(key)).toBe(true);
    expect(readFileSync(file, 'utf8')).not.toContain(key.slice(16));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const sha256 = hashApiKey(key);
    expect(readKeyFile(file)?.[0]).toMatchObject({ name: 'ci', sha256, groups: ['g'] });
    expect(keys('list').out).toMatch(/^ID .*\n[a-z0-9]{12} {2}ci {4}g {7}s:r/);
    expect(keys('list').out).not.toContain(key.slice(16));
  });

  it('revokes one of several', () => {
    keys('add');
    const id = keys('add', { name: 'other' }).out.split('_')[1];
    expect(keys('revoke', { id }).status).toBe(0);
    expect(readKeyFile(file)?.map(({ name }) => name)).toEqual(['ci']);
    expect(keys('revoke', { id }).status).toBe(1);
  });

  it.each([
    [{ name: 'a\nb' }],
    [{ name: '' }],
    [{ groups: ['a b'] }],
    [{ scopes: ['"'] }],
    [{ expires: 'soon' }],
    [{ expires: '2020-01-01' }],
    [{ expires: '-1d' }],
  ])('refuses %j', (rest) => {
    expect(keys('add', rest)).toMatchObject({ status: 2, out: '' });
    expect(readKeyFile(file)).toBeUndefined();
  });

  it('does not write over somebody else', () => {
    writeFileSync(`${file}.new`, '');
    expect(keys('add')).toMatchObject({ status: 1, out: '' });
  });
});

describe('a key file', () => {
  const open = (): void => {
    const logger = createLogger({ level: 'fatal', messages: false });
    const ring = new KeyRing(file, logger, () => undefined);
    ring.open();
    ring.close();
  };

  it.each([0o644, 0o604, 0o622, 0o602])('A05 with mode %o is refused', (mode) => {
    keys('add');
    chmodSync(file, mode);
    expect(open).toThrow(/others can read or change it: chmod 600/);
  });

  const record = `"id":"a","name":"","sha256":"${'A'.repeat(43)}","groups":[],"scopes":[],"created":""`;

  it.each([
    ['', 'is not JSON'],
    ['[]', 'must be a map'],
    ['{"version":2,"keys":[]}', 'must be a map with "version": 1'],
    ['{"version":1,"keys":[]}', 'has no key yet'],
    ['{"version":1,"keys":[{}]}', 'has a bad key, entry 0'],
    [`{"version":1,"keys":[{${record},"expires":"never"}]}`, 'has a bad key'],
    [`{"version":1,"keys":[{${record}},{${record}}]}`, 'has an id twice'],
  ])('G01 with %j is refused', (text, why) => {
    writeFileSync(file, text, { mode: 0o600 });
    expect(open).toThrow(why);
    expect(open).toThrow(KeyFileError);
  });

  it('G01 that is missing is refused with what to do', () => {
    expect(open).toThrow(`sluice keys add --file ${file}`);
  });
});
