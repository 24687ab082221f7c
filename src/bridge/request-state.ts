// What a client must bring back with the answers to a server's questions: sealed, so that nobody can
// make or change one, and bound to who got it, for what, and until when (2026-07-28
// basic/patterns/mrtr).

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { isObject, parseSpan } from '../jsonrpc/parse.ts';
import { jsonText } from '../jsonrpc/serialize.ts';

const VERSION = 'v1';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/** What a state says. */
export interface StateClaims {
  /** Which parked call; absent where nothing is parked. */
  readonly park?: string;
  /** Who got it. */
  readonly principal: string;
  readonly endpoint: string;
  /** Digest of the request that it continues. */
  readonly request: string;
  /** Each state answers one round. */
  readonly round: number;
  /** Wall-clock milliseconds after which it is void. */
  readonly expiresAt: number;
  /** The state that the server gave, where it has one of its own. */
  readonly upstream?: string;
}

/** Seals and opens states. */
export class StateSealer {
  /** The first seals; all of them open, so that keys can be rotated. */
  readonly #keys: readonly Buffer[];

  /**
   * @param secrets texts that keys are made of; none: a random key that dies with the process
   */
  constructor(secrets: readonly string[]) {
    this.#keys =
      secrets.length === 0
        ? [randomBytes(KEY_BYTES)]
        : secrets.map((secret) => createHash('sha256').update(secret).digest());
  }

  seal(claims: StateClaims): string {
    const [key] = this.#keys;
    if (key === undefined) throw new RangeError('there is always a key');
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', key, iv);
    cipher.setAAD(Buffer.from(VERSION));
    const text = Buffer.concat([cipher.update(jsonText(claims), 'utf8'), cipher.final()]);
    return `${VERSION}.${Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url')}`;
  }

  /**
   * Opens a state.
   * @returns undefined when it was not made by this gateway, or was changed
   */
  open(state: string): StateClaims | undefined {
    const [version, encoded] = state.split('.', 2);
    if (version !== VERSION || encoded === undefined) return undefined;
    const sealed = Buffer.from(encoded, 'base64url');
    // One text for one state: base64url that decodes alike but is spelled otherwise is another one.
    if (sealed.length <= IV_BYTES + TAG_BYTES || sealed.toString('base64url') !== encoded) {
      return undefined;
    }
    for (const key of this.#keys) {
      const claims = openWith(key, sealed);
      if (claims !== undefined) return claims;
    }
    return undefined;
  }
}

function openWith(key: Buffer, sealed: Buffer): StateClaims | undefined {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, IV_BYTES));
  decipher.setAAD(Buffer.from(VERSION));
  decipher.setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  try {
    const text = Buffer.concat([
      decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES)),
      decipher.final(),
    ]);
    const claims = parseSpan(text, 0, text.length);
    return isObject(claims) ? (claims as unknown as StateClaims) : undefined;
  } catch {
    return undefined; // sealed with another key, or changed
  }
}

/** A digest of what a request asks for, whatever the order of its members. */
export function digestOf(method: string, params: unknown): string {
  const { name, uri, arguments: args } = isObject(params) ? params : {};
  const text = canonical({ method, name, uri, args });
  return createHash('sha256').update(text).digest('base64url');
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isObject(value)) return jsonText(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${jsonText(key)}:${canonical(value[key])}`);
  return `{${members.join(',')}}`;
}
