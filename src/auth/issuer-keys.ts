// The public keys of one authorization server. They are fetched, with limits, from the configured address.
// They are fetched again when they are old, or when a token names an unknown key.
import type { createLocalJWKSet, JSONWebKeySet } from 'jose';
import { monotonicMs } from '../base/clock.ts';
import { GatheredBytes } from '../base/gathered-bytes.ts';
import { directConnector, openPool } from '../base/http-pool.ts';
import { type ProxyRules, proxyFor } from '../base/proxies.ts';
import { isObject, parseSpan } from '../jsonrpc/parse.ts';
import type { Logger } from '../observe/logger.ts';

const FETCH_MS = 5_000;
const MAX_BYTES = 256 * 1024;
const MAX_KEYS = 100;
const FRESH_MS = 600_000;
/** How long old keys are used if no new ones can be fetched. */
const STALE_MS = 24 * 3_600_000;
/** Tokens with invented key names must not cause requests all the time. */
const COOLDOWN_MS = 30_000;
const RETRY_MS = 5_000;

export type KeySet = ReturnType<typeof createLocalJWKSet>;
/** Makes a key set of a document. */
export type KeySetMaker = typeof createLocalJWKSet;

/** The keys can't be fetched now, so tokens can't be checked. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable';
}

/** The keys of one issuer. */
export class IssuerKeys {
  readonly #url: string;
  readonly #make: KeySetMaker;
  readonly #logger: Logger;
  readonly #proxies: ProxyRules | undefined;
  #keys: KeySet | undefined;
  #fetchedMs = Number.NEGATIVE_INFINITY;
  #triedMs = Number.NEGATIVE_INFINITY;
  #fetching: Promise<void> | undefined;

  constructor(url: string, make: KeySetMaker, logger: Logger, proxies?: ProxyRules) {
    this.#url = url;
    this.#make = make;
    this.#logger = logger;
    this.#proxies = proxies;
  }

  /**
   * The keys.
   * @throws KeysUnavailable if there are none, or they are too old
   */
  async current(): Promise<KeySet> {
    const age = monotonicMs() - this.#fetchedMs;
    if (age > FRESH_MS && this.#mayTry(RETRY_MS)) await this.#refresh();
    else if (this.#keys === undefined) await this.#fetching;
    if (this.#keys === undefined || monotonicMs() - this.#fetchedMs > STALE_MS) {
      throw new KeysUnavailable('the keys of the issuer are not available');
    }
    return this.#keys;
  }

  /**
   * Newer keys, for a token whose key is unknown.
   * @returns undefined if it is too early to fetch them again
   */
  async newer(): Promise<KeySet | undefined> {
    if (this.#fetching === undefined && !this.#mayTry(COOLDOWN_MS)) return undefined;
    const before = this.#keys;
    await this.#refresh();
    return this.#keys === before ? undefined : this.#keys;
  }

  #mayTry(cooldownMs: number): boolean {
    return this.#fetching !== undefined || monotonicMs() - this.#triedMs >= cooldownMs;
  }

  #refresh(): Promise<void> {
    this.#fetching ??= this.#download().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #download(): Promise<void> {
    this.#triedMs = monotonicMs();
    try {
      const document = await downloadKeys(new URL(this.#url), this.#proxies);
      this.#keys = this.#make(document);
      this.#fetchedMs = monotonicMs();
    } catch (error) {
      this.#logger.warn({ err: error, url: this.#url }, 'keys of an issuer could not be fetched');
    }
  }
}

async function downloadKeys(url: URL, proxies: ProxyRules | undefined): Promise<JSONWebKeySet> {
  const proxy = proxyFor(url, proxies);
  const options = { allowH2: false, connections: 1, connect: directConnector(FETCH_MS) };
  const pool = openPool(url.origin, options, proxy && { proxy });
  try {
    const { statusCode, body } = await pool.request({
      path: `${url.pathname}${url.search}`,
      method: 'GET',
      headers: {
        accept: 'application/jwk-set+json, application/json',
        'accept-encoding': 'identity',
      },
      headersTimeout: FETCH_MS,
      bodyTimeout: FETCH_MS,
      signal: AbortSignal.timeout(FETCH_MS),
    });
    const bytes = new GatheredBytes();
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes.push(chunk);
      // Leaving the loop destroys the body and its connection.
      if (bytes.length > MAX_BYTES) throw new Error('the JWKS document is too large');
    }
    // Redirects are not followed, because they could lead anywhere.
    if (statusCode !== 200) throw new Error(`the issuer answered ${statusCode}`);
    return keysIn(bytes);
  } finally {
    await pool.destroy();
  }
}

function keysIn(bytes: GatheredBytes): JSONWebKeySet {
  const { length } = bytes;
  const document = parseSpan(bytes.take(), 0, length);
  const keys = isObject(document) ? document['keys'] : undefined;
  if (!Array.isArray(keys) || keys.length > MAX_KEYS) throw new Error('not a JWKS document');
  return document as JSONWebKeySet;
}
