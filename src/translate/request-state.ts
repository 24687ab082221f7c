// The state that a client must return with the answers to server requests. It is sealed, so that nobody can
// make or change one. It contains the principal and the request that it is valid for, and when it expires
// (2026-07-28 basic/patterns/mrtr).

import { createHash } from 'node:crypto';
import { Sealer } from '../base/sealer.ts';
import { isObject, parseText } from '../jsonrpc/parse.ts';
import { commaSeparated, jsonText } from '../jsonrpc/serialize.ts';

const PURPOSE = 'v1';

/** The content of a state. */
export interface StateClaims {
  /** The suspended call; absent if nothing is suspended. */
  readonly suspendedId?: string;
  /** The principal that got it, with its credentials. */
  readonly principal: string;
  readonly endpoint: string;
  /** Digest of the request that it continues. */
  readonly request: string;
  /** Each state is valid for one round. */
  readonly round: number;
  /** Wall-clock milliseconds when it expires. */
  readonly expiresAt: number;
  /** The server's own state, if there is one. */
  readonly upstream?: string;
}

/** Seals and opens states. */
export class StateSealer {
  readonly #sealer: Sealer;

  /** @param secrets texts that keys are derived from; none: a random key that ends with the process */
  constructor(secrets: readonly string[]) {
    this.#sealer = new Sealer(PURPOSE, secrets);
  }

  seal(claims: StateClaims): string {
    return this.#sealer.seal(jsonText(claims));
  }

  /**
   * Opens a state.
   * @returns undefined if it was not made by this gateway, or was changed
   */
  open(state: string): StateClaims | undefined {
    const text = this.#sealer.open(state);
    const claims = text === undefined ? undefined : parseText(text);
    return isObject(claims) ? (claims as unknown as StateClaims) : undefined;
  }
}

/** A digest of a request, which does not depend on the order of members. */
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
