// Reads small files: configuration, secrets, certificates. Size and time are limited, and errors can be shown
// to users.
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { holdUp, monotonicMs } from './clock.ts';
import { codeOf } from './errors.ts';

/** The largest secret file, in bytes. */
const MAX_SECRET_BYTES = 64 * 1024;
/** Non-blocking: opening a pipe that nobody writes to must not block the process. */
const OPEN = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
/** How long the writer of a pipe may take to write everything. */
const PIPE_LIMIT_MS = 10_000;
const PIPE_POLL_MS = 20;
const CHUNK_BYTES = 64 * 1024;

/** Why a file can't be used. The message completes a sentence that ends with "but". */
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
 * @param path absolute
 * @param maxBytes a larger file is refused
 * @returns the text
 * @throws UnusableFile
 */
export function readTextFile(path: string, maxBytes: number): string {
  return decoded(readBoundedFile(path, maxBytes));
}

/**
 * Like `readTextFile`, for files and pipes, such as `<(command)` of a shell. It blocks the process until the
 * writer of a pipe is done, so it is only for the start.
 */
export function readTextFileOrPipe(
  path: string,
  maxBytes: number,
  limitMs = PIPE_LIMIT_MS,
): string {
  return decoded(readBounded(path, maxBytes, limitMs));
}

/**
 * Reads a regular file of limited size.
 * @param path absolute
 * @param maxBytes a larger file is refused
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

/** @param pipeMs how long to wait for the writer of a pipe; undefined: pipes are refused, like devices */
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
 * @param isOver called when there is nothing to read, with the number of bytes so far; says whether the end
 *   is reached
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

/** @returns the number of bytes; -1 if there are none yet */
function readSome(handle: number, chunk: Buffer): number {
  try {
    return readSync(handle, chunk);
  } catch (error) {
    if (codeOf(error) === 'EAGAIN') return -1;
    throw error;
  }
}

/** A pipe without a writer looks like one at its end, both before its first writer and after its last one. */
function endOfPipe(limitMs: number): (isAtEnd: boolean, length: number) => boolean {
  const endMs = monotonicMs() + limitMs;
  return (isAtEnd, length) => {
    if (isAtEnd && length > 0) return true;
    if (monotonicMs() > endMs) {
      const what = length === 0 ? 'nothing was written to it' : 'its writer did not finish';
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
