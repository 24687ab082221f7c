// The form of API keys, and how they are stored. A key has 256 random bits, so one SHA-256 is enough: slow
// hashes protect passwords that can be guessed. A key is found by its hash. A client can't choose the hash
// byte by byte, so the time of the look-up reveals nothing.
import { hash, randomBytes, randomInt } from 'node:crypto';

const KEY = /^gw_[a-z0-9]{12}_[\w-]{43}$/;
const ID_LENGTH = 12;
const ID_LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** What the file stores about a key: enough to recognize it, but not the key. */
export interface ApiKeyRecord {
  readonly id: string;
  /** For people. */
  readonly name: string;
  /** Hash of the whole key, as base64url. */
  readonly sha256: string;
  readonly groups: readonly string[];
  readonly scopes: readonly string[];
  /** RFC 3339. */
  readonly created: string;
  /** RFC 3339; absent: it does not expire. */
  readonly expires?: string;
}

/** A new key. */
export interface NewApiKey {
  readonly id: string;
  /** Shown only once. */
  readonly key: string;
  readonly sha256: string;
}

/** Makes a key. */
export function createApiKey(): NewApiKey {
  const letters = Array.from({ length: ID_LENGTH }, () => ID_LETTERS[randomInt(ID_LETTERS.length)]);
  const id = letters.join('');
  const key = `gw_${id}_${randomBytes(32).toString('base64url')}`;
  return { id, key, sha256: hashApiKey(key) };
}

/** Whether a text has the form of a key. The key may still be unknown. */
export function looksLikeApiKey(text: string): boolean {
  return KEY.test(text);
}

/** The hash by which a key is found. */
export function hashApiKey(key: string): string {
  return hash('sha256', key, 'base64url');
}
