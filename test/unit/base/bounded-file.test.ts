/** Files of others are read within bounds: of size, of time, and only what is a file. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  readBoundedFile,
  readSecretFile,
  readTextFile,
  readTextFileOrPipe,
} from '../../../src/base/bounded-file.ts';
import { readLockFile } from '../../../src/catalog/pins/lock-file.ts';
import { tempDir } from '../../support/temp-dir.ts';

const MAX = 1024 * 1024;

function pipe(): string {
  const path = join(tempDir(), 'pipe');
  execFileSync('mkfifo', [path]);
  return path;
}

it('a pipe that nobody writes to is refused, and waited for only where a pipe may be', () => {
  const path = pipe();
  const refused = 'it is a pipe: must be a regular file';
  expect(() => readTextFile(path, MAX)).toThrow(refused);
  expect(() => readSecretFile(path)).toThrow(refused);
  expect(() => readBoundedFile(path, MAX)).toThrow(refused);
  expect(() => readLockFile(path)).toThrow(refused);
  const silent = 'it is a pipe, and nothing was written to it within 0.05 s';
  expect(() => readTextFileOrPipe(path, MAX, 50)).toThrow(silent);
});

it.each([
  ['comes late, and writes more than a pipe holds', 200_000],
  ['writes little', 1],
])('a pipe is read to its end, whose writer %s', async (_, length) => {
  const path = pipe();
  const script = 'sleep 0.2; head -c "$1" /dev/zero | tr "\\0" x > "$0"';
  const writer = spawn('sh', ['-c', script, path, String(length)], { stdio: 'ignore' });
  const ended = once(writer, 'exit');
  expect(readTextFileOrPipe(path, MAX)).toBe('x'.repeat(length));
  await ended;
});

it('a pipe whose writer does not end, or ends too late, is refused', async () => {
  const path = pipe();
  const writer = spawn('sh', ['-c', 'exec > "$0"; echo half; exec sleep 1000', path], {
    stdio: 'ignore',
  });
  const ended = once(writer, 'exit');
  expect(() => readTextFileOrPipe(path, MAX, 3_000)).toThrow(
    'it is a pipe, and its writer did not finish within 3 s',
  );
  writer.kill('SIGKILL');
  await ended;
});

it('devices are refused, behind links too', () => {
  const link = join(tempDir(), 'link');
  symlinkSync('/dev/zero', link);
  for (const path of ['/dev/null', '/dev/zero', link]) {
    for (const read of [readTextFile, readTextFileOrPipe]) {
      expect(() => read(path, MAX)).toThrow('it is a device: must be a regular file');
    }
  }
});

it('a file may be as large as the bound, and no larger', () => {
  const path = join(tempDir(), 'file');
  writeFileSync(path, 'x'.repeat(200_000));
  expect(readTextFile(path, 200_000)).toHaveLength(200_000);
  expect(() => readTextFile(path, 199_999)).toThrow('it is larger than');
});
