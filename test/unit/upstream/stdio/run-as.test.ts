// Another user for a child: who is found, what is refused, which files they could read.
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loadText } from '../../../../src/config/load.ts';
import { checkReport } from '../../../../src/config/report.ts';
import { mayRead, type RunAs } from '../../../../src/upstream/stdio/run-as.ts';
import { processTarget } from '../../../support/process-target.ts';

const IS_ROOT = process.getuid?.() === 0;
const folder = mkdtempSync(join(tmpdir(), 'sluice-run-as-'));
afterAll(() => rmSync(folder, { recursive: true }));

const load = (entry: string): ReturnType<typeof loadText> =>
  loadText(join(folder, 's.yaml'), `servers: { a: { command: x, ${entry} } }`, {});

describe('runAs', () => {
  it.each([
    ['{ user: no-such-user }', 'is not a user in /etc/passwd ("no-such-user")'],
    ['{ user: "a b" }', 'must be a name or a number'],
    ['{ user: "" }', 'must be a name or a number'],
    ['{ user: -1 }', 'must be a name or a number'],
    ['{ user: 4294967295 }', 'must be a name or a number'],
    ['{ user: 1.5 }', 'must be a name or a number'],
    ['{ user: 12345 }', 'must have group too'],
    [
      '{ user: 12345, group: no-such-group }',
      'has a group that is not in /etc/group ("no-such-group")',
    ],
    ['{ group: 1 }', 'must be a name or a number'],
    ['nobody', 'must be a map of options'],
  ])('%s is refused', (runAs, message) => {
    expect(() => load(`runAs: ${runAs}`)).toThrow(message);
  });

  it.skipIf(!IS_ROOT)('is looked up, and shown as it was written', () => {
    const loaded = load('runAs: { user: nobody, group: "0" }');
    const found = processTarget(loaded.config.servers[0]).runAs;
    expect(found).toMatchObject({ uid: 65_534, gid: 0, name: 'nobody' });
    expect(loadText(join(folder, 's.yaml'), checkReport(loaded), {}).config).toEqual(loaded.config);
  });

  it.skipIf(IS_ROOT)('needs the right', () => {
    expect(() => load('runAs: { user: 12345, group: 12345 }')).toThrow('needs a gateway that runs');
  });
});

describe('files', () => {
  const file = join(folder, 'secret');
  writeFileSync(file, 'x');
  const user = (uid: number, gid: number): RunAs => ({
    user: uid,
    group: gid,
    uid,
    gid,
    home: undefined,
    name: undefined,
  });
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];

  it.skipIf(!IS_ROOT)('can be read as their mode says, and that of the folders above', () => {
    chmodSync(folder, 0o755);
    chownSync(file, 1_000, 1_000);
    const cases: [mode: number, owner: boolean, group: boolean, others: boolean][] = [
      [0o600, true, false, false],
      [0o640, true, true, false],
      [0o644, true, true, true],
      [0o604, true, false, true],
      [0o044, false, true, true],
    ];
    for (const [mode, owner, group, others] of cases) {
      chmodSync(file, mode);
      const rights = [user(1_000, 1_000), user(2_000, 1_000), user(2_000, 2_000)];
      expect(rights.map((one) => mayRead(one, file))).toEqual([owner, group, others]);
    }
    chmodSync(folder, 0o700);
    expect(mayRead(user(1_000, 1_000), file)).toBe(false);
  });

  it('that are not there can not be read', () => {
    expect(mayRead(user(uid, gid), join(folder, 'nope'))).toBe(false);
  });

  it.skipIf(!IS_ROOT)('of the gateway that a process could read are named', () => {
    chmodSync(folder, 0o755);
    const config = join(folder, 's.yaml');
    writeFileSync(config, '');
    chmodSync(config, 0o644);
    const entry = 'runAs: { user: nobody }';
    expect(load(entry).warnings.map(({ path, message }) => `${path} ${message}`)).toEqual([
      `servers.a.runAs can read ${config}: take the right from that user with chmod or chown`,
    ]);
    chmodSync(config, 0o600);
    expect(load(entry).warnings).toEqual([]);
  });
});
