// API keys: how they look, and how they are kept. A key is 256 random bits, so one SHA-256 is enough:
// slow hashes protect guessable passwords, and nobody guesses these. A key is found by its hash, which
// its sender can't steer byte by byte, so the look-up tells nothing through its timing either.
import { hash, randomBytes, randomInt } from 'node:crypto';

const KEY = /^gw_[a-z0-9]{12}_[\w-]{43}$/;
const ID_LENGTH = 12;
const ID_LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** What a file keeps of a key: enough to recognise it, nothing to make it from. */
export interface ApiKeyRecord {
  readonly id: string;
  /** For people. */
  readonly name: string;
  /** Of the whole key, as base64url. */
  readonly sha256: string;
  readonly groups: readonly string[];
  readonly scopes: readonly string[];
  /** RFC 3339. */
  readonly created: string;
  /** RFC 3339; absent: never. */
  readonly expires?: string;
}

/** A key that nobody has seen yet. */
export interface NewApiKey {
  readonly id: string;
  /** To be shown once. */
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

/** Whether a text has the form of a key; one that has may still be unknown. */
export function looksLikeApiKey(text: string): boolean {
  return KEY.test(text);
}

/** What a key is found by. */
export function hashApiKey(key: string): string {
  return hash('sha256', key, 'base64url');
}
