// The file of API keys: `sluice keys` writes it, the gateway reads it. It is replaced as a whole, so a reader
// never sees a half-written file. It is refused if other users could read or change it.
import {
  closeSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { codeOf, UserFileError } from '../base/errors.ts';
import { isObject, parseSpan } from '../jsonrpc/parse.ts';
import { jsonText } from '../jsonrpc/serialize.ts';
import type { ApiKeyRecord } from './api-keys.ts';

const MAX_BYTES = 4 * 1024 * 1024;
const OTHERS_MAY_READ = 0o004;
const OTHERS_MAY_WRITE = 0o022;
const OWNER_ONLY = 0o600;

/** A key file that can't be used. The message is for its owner. */
export class KeyFileError extends UserFileError {
  override readonly name = 'KeyFileError';
}

/**
 * Reads a key file.
 * @param path absolute
 * @returns its keys; undefined if the file does not exist
 * @throws KeyFileError if it is not safe or not valid
 */
export function readKeyFile(path: string): ApiKeyRecord[] | undefined {
  let bytes: Buffer;
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return undefined;
    if ((found.mode & (OTHERS_MAY_READ | OTHERS_MAY_WRITE)) !== 0) {
      const mode = (found.mode & 0o777).toString(8);
      throw new KeyFileError(
        `the key file ${path} has mode ${mode}, so others can read or change it: chmod 600 it`,
      );
    }
    if (!found.isFile() || found.size > MAX_BYTES) {
      throw new KeyFileError(`the key file ${path} must be a file of at most 4 MiB`);
    }
    bytes = readFileSync(path);
  } catch (error) {
    if (error instanceof KeyFileError) throw error;
    const code = codeOf(error) ?? 'unknown error';
    throw new KeyFileError(`the key file ${path} can't be read (${code})`);
  }
  return parseKeyFile(bytes, path);
}

/**
 * Writes a key file.
 * @param path absolute
 * @param keys all its keys
 * @throws KeyFileError if it can't be written, or another process is writing it
 */
export function writeKeyFile(path: string, keys: readonly ApiKeyRecord[]): void {
  const rows = keys.map((key) => `\n    ${jsonText(key)}`).join(',');
  const next = `${path}.new`;
  try {
    // Fails if the file exists: with two writers, the keys of one would be lost.
    const handle = openSync(next, 'wx', OWNER_ONLY);
    try {
      writeSync(handle, `{\n  "version": 1,\n  "keys": [${rows}\n  ]\n}\n`);
      closeSync(handle);
      renameSync(next, path);
    } catch (error) {
      rmSync(next, { force: true });
      throw error;
    }
  } catch (error) {
    const code = codeOf(error) ?? 'unknown error';
    const advice =
      code === 'EEXIST'
        ? `${next} exists: another process is writing the keys, or the file was left behind and can be removed`
        : code;
    throw new KeyFileError(`the key file ${path} can't be written: ${advice}`);
  }
}

function parseKeyFile(bytes: Buffer, path: string): ApiKeyRecord[] {
  let value: unknown;
  try {
    value = parseSpan(bytes, 0, bytes.length);
  } catch {
    throw new KeyFileError(`the key file ${path} is not JSON: restore it, or make a new one`);
  }
  if (!isObject(value) || value['version'] !== 1 || !Array.isArray(value['keys'])) {
    throw new KeyFileError(`the key file ${path} must be a map with "version": 1 and "keys"`);
  }
  const keys = value['keys'].map((entry: unknown, at) => {
    const key = recordOf(entry);
    if (key === undefined)
      throw new KeyFileError(`the key file ${path} has a bad key, entry ${at}`);
    return key;
  });
  const ids = new Set(keys.map(({ id }) => id));
  if (ids.size < keys.length) throw new KeyFileError(`the key file ${path} has an id twice`);
  return keys;
}

function recordOf(entry: unknown): ApiKeyRecord | undefined {
  if (!isObject(entry)) return undefined;
  const { id, name, sha256, groups, scopes, created, expires } = entry;
  if (typeof id !== 'string' || !/^[a-z0-9]{1,64}$/.test(id)) return undefined;
  if (typeof sha256 !== 'string' || !/^[\w-]{43}$/.test(sha256)) return undefined;
  if (typeof name !== 'string' || typeof created !== 'string') return undefined;
  if (!isTexts(groups) || !isTexts(scopes)) return undefined;
  if (expires === undefined) return { id, name, sha256, groups, scopes, created };
  // An invalid date must not mean "never".
  if (typeof expires !== 'string' || Number.isNaN(Date.parse(expires))) return undefined;
  return { id, name, sha256, groups, scopes, created, expires };
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
