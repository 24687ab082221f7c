// Reads small files of text that somebody else writes: configuration, secrets. Bounded, and with
// failures that can be shown.
import { closeSync, openSync, readSync } from 'node:fs';

/** The largest secret file, in bytes. */
const MAX_SECRET_BYTES = 64 * 1024;

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
 * Reads a file of UTF-8 text.
 *
 * @param path absolute
 * @param maxBytes more is refused
 * @returns the text
 * @throws UnusableFile
 */
export function readTextFile(path: string, maxBytes: number): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readBounded(path, maxBytes));
  } catch (error) {
    if (error instanceof UnusableFile) throw error;
    throw new UnusableFile(describeReadError(error), { cause: error });
  }
}

/**
 * Reads a file that must not be larger than a bound. Pipes and devices are read to the bound too.
 *
 * @param path absolute
 * @param maxBytes the bound
 * @returns the bytes
 * @throws UnusableFile when it is too large, else what the file system throws
 */
function readBounded(path: string, maxBytes: number): Buffer {
  const handle = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(maxBytes + 1);
    let length = 0;
    for (;;) {
      const count = readSync(handle, bytes, length, bytes.length - length, null);
      length += count;
      if (length > maxBytes) throw new UnusableFile(`it is larger than ${maxBytes / 1024} KiB`);
      if (count === 0) return bytes.subarray(0, length);
    }
  } finally {
    closeSync(handle);
  }
}

function describeReadError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'there is no such file';
    case 'EACCES':
    case 'EPERM':
      return 'it may not be read: check its owner and mode';
    case 'EISDIR':
      return 'it is a folder';
    case 'ERR_ENCODING_INVALID_ENCODED_DATA':
      return 'it is not UTF-8 text';
    default:
      return `it can't be read${typeof code === 'string' ? ` (${code})` : ''}`;
  }
}
