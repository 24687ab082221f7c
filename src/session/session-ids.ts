// Session ids. If the client can return with it, an id contains what another process needs to continue the
// session. It is sealed, so that nobody can read, change or make one (docs/security.md#session-ids).
import { hash, randomBytes } from 'node:crypto';
import { Sealer } from '../base/sealer.ts';
import { isObject, parseText } from '../jsonrpc/parse.ts';
import { jsonText } from '../jsonrpc/serialize.ts';
import type { ClientCapabilities } from '../mcp/capabilities.ts';
import { negotiate } from '../mcp/versions.ts';

/** The version of the format. */
const PURPOSE = 's1';
/** Longer ids could exceed limits of proxies for headers. */
const MAX_LENGTH = 1_024;
const RANDOM_BYTES = 32;
const DIGEST_LENGTH = 22;

/** What an id contains. */
export interface SessionClaims {
  /** The negotiated protocol revision. */
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  /** The name of the endpoint where it was opened. */
  readonly endpoint: string;
  /** The key of its principal. */
  readonly principal: string;
  /** The part of the principal's credentials that servers see, from `credentialsDigest`. */
  readonly credentials: string;
  /** Wall-clock milliseconds. */
  readonly openedAtMs: number;
}

/** An id without content: 256 random bits in visible ASCII (2025-11-25 basic/transports). */
export function newSessionId(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url');
}

/**
 * Identifies an id where the id itself must not be stored. The id can't be computed from half of its hash.
 */
export function digestOf(id: string): string {
  return hash('sha256', id, 'base64url').slice(0, DIGEST_LENGTH);
}

/** A digest of a credential fingerprint. Most servers see no credentials; then both are empty. */
export function credentialsDigest(fingerprint: string): string {
  return fingerprint.trim() === '' ? '' : digestOf(fingerprint);
}

/** Makes and reads the ids of sessions that may outlive the process. */
export class SessionIds {
  readonly #sealer: Sealer;

  /** @param secrets texts that keys are derived from; none: a random key that ends with the process */
  constructor(secrets: readonly string[]) {
    this.#sealer = new Sealer(PURPOSE, secrets);
  }

  /** An id with these claims. If it would be too long, a random one, whose session ends with the process. */
  make(claims: SessionClaims): string {
    const { version, capabilities, endpoint, principal, credentials, openedAtMs } = claims;
    const text = jsonText([version, capabilities, endpoint, principal, credentials, openedAtMs]);
    if (text.length > MAX_LENGTH) return newSessionId();
    const id = this.#sealer.seal(text);
    return id.length > MAX_LENGTH ? newSessionId() : id;
  }

  /** Whether an id may contain claims. */
  isSealed(id: string): boolean {
    return id.length <= MAX_LENGTH && this.#sealer.isLike(id);
  }

  /**
   * Reads an id from a client.
   * @returns undefined if it has no claims, or was not made with one of the keys
   */
  open(id: string): SessionClaims | undefined {
    const text = this.isSealed(id) ? this.#sealer.open(id) : undefined;
    const claims = text === undefined ? undefined : parseText(text);
    if (!Array.isArray(claims)) return undefined;
    const [version, capabilities, endpoint, principal, credentials, openedAtMs] =
      claims as unknown[];
    // Another version of the gateway may have supported other revisions.
    const isServed = typeof version === 'string' && negotiate(version) === version;
    if (!isServed || !isObject(capabilities) || typeof openedAtMs !== 'number') return undefined;
    if (typeof endpoint !== 'string' || typeof principal !== 'string') return undefined;
    if (typeof credentials !== 'string') return undefined;
    return { version, capabilities, endpoint, principal, credentials, openedAtMs };
  }
}
