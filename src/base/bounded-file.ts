// Reads small files that somebody else writes: configuration, secrets, certificates. Bounded in size and
// time, and with failures that can be shown.
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { holdUp, monotonicMs } from './clock.ts';
import { codeOf } from './errors.ts';

/** The largest secret file, in bytes. */
const MAX_SECRET_BYTES = 64 * 1024;
/** A pipe that nobody writes to is opened, too, instead of holding the process up for ever. */
const OPEN = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
/** How long whoever writes to a pipe may take until all is written. */
const PIPE_LIMIT_MS = 10_000;
const PIPE_POLL_MS = 20;
const CHUNK_BYTES = 64 * 1024;

/** Why a file can't be used: the end of a sentence that starts with "but". */
export class UnusableFile extends Error {
  override readonly name = 'UnusableFile';
}

/**
 * Reads a secret.
 *
 * @param path absolute
 * @returns the text without its last line end
 * @throws UnusableFile
 */
export function readSecretFile(path: string): string {
  const text = readTextFile(path, MAX_SECRET_BYTES).replace(/\r?\n$/, '');
  if (text.includes('\0')) throw new UnusableFile('it has a NUL character');
  return text;
}

/**
 * Reads a regular file of UTF-8 text.
 *
 * @param path absolute
 * @param maxBytes more is refused
 * @returns the text
 * @throws UnusableFile
 */
export function readTextFile(path: string, maxBytes: number): string {
  return decoded(readBoundedFile(path, maxBytes));
}

/**
 * The same for what may be a pipe too, such as `<(command)` of a shell. Waits for whoever writes to it, and
 * holds the whole process up meanwhile: only for what a process starts with.
 */
export function readTextFileOrPipe(
  path: string,
  maxBytes: number,
  limitMs = PIPE_LIMIT_MS,
): string {
  return decoded(readBounded(path, maxBytes, limitMs));
}

/**
 * Reads a regular file that must not be larger than a bound.
 *
 * @param path absolute
 * @param maxBytes the bound
 * @returns the bytes
 * @throws UnusableFile
 */
export function readBoundedFile(path: string, maxBytes: number): Buffer {
  return readBounded(path, maxBytes, undefined);
}

function decoded(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new UnusableFile('it is not UTF-8 text', { cause: error });
  }
}

/** @param pipeMs undefined: pipes are refused as devices are */
function readBounded(path: string, maxBytes: number, pipeMs: number | undefined): Buffer {
  let handle: number | undefined;
  try {
    handle = openSync(path, OPEN);
    const found = fstatSync(handle);
    if (found.isFile()) return readAll(handle, maxBytes, () => true);
    if (!found.isFIFO() || pipeMs === undefined) throw new UnusableFile(kindOf(found));
    return readAll(handle, maxBytes, endOfPipe(pipeMs));
  } catch (error) {
    if (error instanceof UnusableFile) throw error;
    throw new UnusableFile(describeReadError(error), { cause: error });
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

/**
 * @param isOver asked when there is nothing to read: whether there will never be, and how many bytes there
 *   were in all
 */
function readAll(
  handle: number,
  maxBytes: number,
  isOver: (isAtEnd: boolean, length: number) => boolean,
): Buffer {
  const chunks: Buffer[] = [];
  for (let length = 0; ; ) {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    const count = readSome(handle, chunk);
    if (count > 0) chunks.push(chunk.subarray(0, count));
    length += Math.max(count, 0);
    if (length > maxBytes) throw new UnusableFile(`it is larger than ${maxBytes / 1024} KiB`);
    if (count <= 0 && isOver(count === 0, length)) return Buffer.concat(chunks, length);
  }
}

/** @returns how many bytes there were; -1 when there are none yet */
function readSome(handle: number, chunk: Buffer): number {
  try {
    return readSync(handle, chunk);
  } catch (error) {
    if (codeOf(error) === 'EAGAIN') return -1;
    throw error;
  }
}

/** Without a writer a pipe is at its end: before the first one came, and after the last one. */
function endOfPipe(limitMs: number): (isAtEnd: boolean, length: number) => boolean {
  const endMs = monotonicMs() + limitMs;
  return (isAtEnd, length) => {
    if (isAtEnd && length > 0) return true;
    if (monotonicMs() > endMs) {
      const what = length === 0 ? 'nobody wrote to it' : 'whoever writes to it did not end';
      throw new UnusableFile(`it is a pipe, and ${what} within ${limitMs / 1_000} s`);
    }
    holdUp(PIPE_POLL_MS);
    return false;
  };
}

function kindOf(found: Stats): string {
  if (found.isDirectory()) return 'it is a folder';
  return `it is ${found.isFIFO() ? 'a pipe' : 'a device'}: must be a regular file`;
}

function describeReadError(error: unknown): string {
  const code = codeOf(error);
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'there is no such file';
    case 'EACCES':
    case 'EPERM':
      return 'it may not be read: check its owner and mode';
    case 'ENXIO':
      return 'it is a socket or a device: must be a regular file';
    default:
      return `it can't be read${code === undefined ? '' : ` (${code})`}`;
  }
}
