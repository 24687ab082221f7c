// What a client must bring back with the answers to a server's requests: sealed, so that nobody can
// make or change one, and bound to who got it, for what, and until when (2026-07-28
// basic/patterns/mrtr).

import { createHash } from 'node:crypto';
import { Sealer } from '../base/sealer.ts';
import { isObject, parseText } from '../jsonrpc/parse.ts';
import { commaSeparated, jsonText } from '../jsonrpc/serialize.ts';

const PURPOSE = 'v1';

/** What a state says. */
export interface StateClaims {
  /** Which suspended call; absent where nothing is suspended. */
  readonly suspendedId?: string;
  /** Who got it, and with which credentials. */
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
  readonly #sealer: Sealer;

  /**
   * @param secrets texts that keys are made of; none: a random key that dies with the process
   */
  constructor(secrets: readonly string[]) {
    this.#sealer = new Sealer(PURPOSE, secrets);
  }

  seal(claims: StateClaims): string {
    return this.#sealer.seal(jsonText(claims));
  }

  /**
   * Opens a state.
   * @returns undefined when it was not made by this gateway, or was changed
   */
  open(state: string): StateClaims | undefined {
    const text = this.#sealer.open(state);
    const claims = text === undefined ? undefined : parseText(text);
    return isObject(claims) ? (claims as unknown as StateClaims) : undefined;
  }
}

/** A digest of what a request asks for, whatever the order of its members. */
export function digestOf(method: string, params: unknown): string {
  const { name, uri, arguments: args } = isObject(params) ? params : {};
  const text = canonical({ method, name, uri, args });
  return createHash('sha256').update(text).digest('base64url');
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${commaSeparated(value.map(canonical))}]`;
  if (!isObject(value)) return jsonText(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${jsonText(key)}:${canonical(value[key])}`);
  return `{${commaSeparated(members)}}`;
}
