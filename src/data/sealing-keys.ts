// `keys.json` in the data folder: the keys that seal session ids, states and ids of tasks, so that the next
// process can open what this one has sealed. Created at the first start. To rotate, put a new key first.
import { randomBytes } from 'node:crypto';
import { isoTime, wallClockMs } from '../base/clock.ts';
import { UserFileError } from '../base/errors.ts';
import { isObject, parseSpan } from '../jsonrpc/parse.ts';
import { jsonText } from '../jsonrpc/serialize.ts';
import type { DataFolder } from './data-folder.ts';

const NAME = 'keys.json';
const VERSION = 1;
const MAX_BYTES = 64 * 1024;
const KEY_BYTES = 32;
const MIN_LENGTH = 32;
const WHAT_TO_DO = 'restore it, or remove it, which ends all sessions of before';

/**
 * The keys of a data folder; the first one seals.
 * @param lost called if a new key can't be written, so that it ends with the process
 * @throws UserFileError if the file exists and can't be used
 */
export function sealingKeys(folder: DataFolder, lost: (error: unknown) => void): string[] {
  const bytes = folder.read(NAME, MAX_BYTES);
  if (bytes !== undefined) return keysIn(bytes, folder.pathOf(NAME));
  const secret = randomBytes(KEY_BYTES).toString('base64url');
  const entry = jsonText({ created: isoTime(wallClockMs()), secret });
  try {
    const text = `{\n  "version": ${VERSION},\n  "keys": [\n    ${entry}\n  ]\n}\n`;
    folder.write(NAME, text, true);
  } catch (error) {
    lost(error);
  }
  return [secret];
}

function keysIn(bytes: Buffer, path: string): string[] {
  let value: unknown;
  try {
    value = parseSpan(bytes, 0, bytes.length);
  } catch {
    throw new UserFileError(`${path} is not JSON: ${WHAT_TO_DO}`);
  }
  if (!isObject(value) || value['version'] !== VERSION || !Array.isArray(value['keys'])) {
    throw new UserFileError(
      `${path} must be a map with "version": ${VERSION} and "keys": ${WHAT_TO_DO}`,
    );
  }
  const keys = value['keys'].map((entry: unknown, at) => {
    const secret = isObject(entry) ? entry['secret'] : undefined;
    if (typeof secret === 'string' && secret.length >= MIN_LENGTH) return secret;
    throw new UserFileError(
      `${path}, key ${at}: must have a "secret" of ${MIN_LENGTH} characters or more: ${WHAT_TO_DO}`,
    );
  });
  if (keys.length === 0) throw new UserFileError(`${path} has no key: ${WHAT_TO_DO}`);
  return keys;
}
