// Session ids. Where its client comes back with it, an id says what another process must know to go on with
// the session: sealed, so that nobody can read, change or make one (docs/security.md#session-ids).
import { hash, randomBytes } from 'node:crypto';
import { Sealer } from '../base/sealer.ts';
import { isObject, parseText } from '../jsonrpc/parse.ts';
import { jsonText } from '../jsonrpc/serialize.ts';
import type { ClientCapabilities } from '../mcp/capabilities.ts';
import { negotiate } from '../mcp/versions.ts';

/** The version of the format. */
const PURPOSE = 's1';
/** Longer ones could be too much for proxies and the limits of other servers' headers. */
const MAX_LENGTH = 1_024;
const RANDOM_BYTES = 32;
const DIGEST_LENGTH = 22;

/** What an id says. */
export interface SessionClaims {
  /** The protocol revision that was agreed on. */
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  /** Name of the endpoint that it was opened at. */
  readonly endpoint: string;
  /** Key of the principal that it belongs to. */
  readonly principal: string;
  /** What of that principal's credentials the servers see, as `credentialsDigest` has it. */
  readonly credentials: string;
  /** Wall-clock milliseconds. */
  readonly openedAtMs: number;
}

/** An id that says nothing: 256 random bits in visible ASCII (2025-11-25 basic/transports). */
export function newSessionId(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url');
}

/** What stands for an id where the id itself must not be kept: half of its hash can't be made an id again. */
export function digestOf(id: string): string {
  return hash('sha256', id, 'base64url').slice(0, DIGEST_LENGTH);
}

/** What stands for a credential fingerprint: most servers see nothing, which is nothing here too. */
export function credentialsDigest(fingerprint: string): string {
  return fingerprint.trim() === '' ? '' : digestOf(fingerprint);
}

/** Makes and reads the ids of sessions that may outlive the process. */
export class SessionIds {
  readonly #sealer: Sealer;

  /**
   * @param secrets texts that keys are made of; none: a random key that dies with the process
   */
  constructor(secrets: readonly string[]) {
    this.#sealer = new Sealer(PURPOSE, secrets);
  }

  /** An id that says all of it, or nothing where that would be too long: such a session dies with the process. */
  make(claims: SessionClaims): string {
    const { version, capabilities, endpoint, principal, credentials, openedAtMs } = claims;
    const text = jsonText([version, capabilities, endpoint, principal, credentials, openedAtMs]);
    if (text.length > MAX_LENGTH) return newSessionId();
    const id = this.#sealer.seal(text);
    return id.length > MAX_LENGTH ? newSessionId() : id;
  }

  /** Whether an id may be one that says something. */
  isSealed(id: string): boolean {
    return id.length <= MAX_LENGTH && this.#sealer.isLike(id);
  }

  /**
   * Reads an id that a client sent.
   * @returns undefined when it says nothing, or was not made with one of the keys
   */
  open(id: string): SessionClaims | undefined {
    const text = this.isSealed(id) ? this.#sealer.open(id) : undefined;
    const claims = text === undefined ? undefined : parseText(text);
    if (!Array.isArray(claims)) return undefined;
    const [version, capabilities, endpoint, principal, credentials, openedAtMs] =
      claims as unknown[];
    // Another version of the gateway may have served other revisions.
    const isServed = typeof version === 'string' && negotiate(version) === version;
    if (!isServed || !isObject(capabilities) || typeof openedAtMs !== 'number') return undefined;
    if (typeof endpoint !== 'string' || typeof principal !== 'string') return undefined;
    if (typeof credentials !== 'string') return undefined;
    return { version, capabilities, endpoint, principal, credentials, openedAtMs };
  }
}
