// Finds out who sends a request, from its credentials. The result is a principal or a refusal; there is no
// default identity.

import { wallClockMs } from '../base/clock.ts';
import { matchesGlob } from '../base/glob.ts';
import type { ProxyRules } from '../base/proxies.ts';
import { isSameValue } from '../base/same-value.ts';
import type { Logger } from '../observe/logger.ts';
import type { Principal } from '../ports/principal.ts';
import { KeysUnavailable } from './issuer-keys.ts';
import { KeyRing } from './key-ring.ts';
import type { AuthOptions, CertificateOptions } from './options.ts';
import { principalKey } from './principal-key.ts';
import { RefusedToken } from './refused-token.ts';
import { TokenVerifier, type VerifiedToken } from './tokens.ts';

/** The credentials of a request. */
export interface Credentials {
  /** The value of `Authorization`. */
  readonly authorization: string | undefined;
  /** The value of `X-API-Key`. */
  readonly apiKey: string | undefined;
  /** The subject alternative names and the end of a verified client certificate. */
  readonly certificate: { readonly names: readonly string[]; readonly expiresAtMs: number };
}

/** Why a request has no principal. */
export type AuthenticationFailure =
  /** There are no credentials. */
  | 'missing'
  /** The credentials are not valid. */
  | 'invalid'
  /** They can't be checked now. */
  | 'unavailable';

export type Identity = Principal | AuthenticationFailure | RefusedToken;

/** Authenticates requests. */
export class Authenticator {
  readonly #options: AuthOptions;
  readonly #keys: KeyRing | undefined;
  readonly #tokens: TokenVerifier;
  /** Without issuers no text is a token, so errors don't mention tokens. */
  readonly #takesTokens: boolean;
  readonly #certificates: readonly CertificateOptions[];
  readonly #byCertificate = new Map<string, Principal>();

  /**
   * @param changed told when principals may have lost what they had
   * @param proxies which keys of issuers are fetched through
   * @param before what decided by other options until now: who comes in by both stays who he is
   */
  constructor(
    options: AuthOptions,
    logger: Logger,
    changed: () => void,
    proxies?: ProxyRules,
    before?: Authenticator,
  ) {
    this.#options = options;
    const { keys, tokens } = before?.kept(options) ?? {};
    this.#keys = options.keys && new KeyRing(options.keys.file, logger, changed, keys);
    this.#tokens = tokens ?? new TokenVerifier(options, logger, proxies);
    this.#takesTokens = options.issuers.length > 0;
    this.#certificates = options.certificates;
  }

  /** What of it is good for other options too. */
  kept(options: AuthOptions): { readonly keys?: KeyRing; readonly tokens?: TokenVerifier } {
    const { issuers, keepsTokens } = this.#options;
    const isSame = isSameValue(issuers, options.issuers) && keepsTokens === options.keepsTokens;
    return {
      ...(this.#keys === undefined ? {} : { keys: this.#keys }),
      ...(isSame ? { tokens: this.#tokens } : {}),
    };
  }

  /**
   * Reads the key file.
   * @throws KeyFileError
   */
  open(): void {
    this.#keys?.open();
  }

  close(): void {
    this.#keys?.close();
  }

  /**
   * Decides if that is possible without waiting.
   * @param audiences the addresses of the endpoint that a token may be issued for
   * @returns undefined if a token must be verified first
   */
  identify(credentials: Credentials, audiences: ReadonlySet<string>): Identity | undefined {
    const secret = secretOf(credentials);
    if (secret === undefined) return this.#certified(credentials.certificate);
    if (secret === '') return 'invalid';
    const known = this.#keys?.find(secret);
    if (known !== undefined) return known;
    if (!this.#takesTokens) return 'invalid';
    const token = this.#tokens.known(secret);
    return token === undefined ? undefined : this.#judge(token, audiences);
  }

  /** Verifies a token about which `identify` could not decide. */
  async verify(credentials: Credentials, audiences: ReadonlySet<string>): Promise<Identity> {
    try {
      const token = await this.#tokens.verify(secretOf(credentials) ?? '');
      return token instanceof RefusedToken ? token : this.#judge(token, audiences);
    } catch (error) {
      return error instanceof KeysUnavailable ? 'unavailable' : 'invalid';
    }
  }

  /** Whether an accepted principal would still be accepted. */
  holds(principal: Principal): boolean {
    if (principal.kind === 'key') return this.#keys?.holds(principal) ?? false;
    if (!this.#isKnownSource(principal)) return false;
    return principal.expiresAtMs === undefined || principal.expiresAtMs > wallClockMs();
  }

  /**
   * Whether a principal can't come back either: a key that was taken back, or what is not configured any
   * more. Whoever came with a token that expired comes back with the next one.
   */
  isRevoked(principal: Principal): boolean {
    return principal.kind === 'key' ? !this.holds(principal) : !this.#isKnownSource(principal);
  }

  /** Whether who vouched for a principal would still be asked. */
  #isKnownSource({ kind, claims, name = '', groups }: Principal): boolean {
    switch (kind) {
      case 'token':
        return this.#options.issuers.some(({ issuer }) => issuer === claims?.['iss']);
      case 'certificate': {
        const found = this.#certificates.filter(({ san }) => matchesGlob(san, name));
        const now = new Set(found.flatMap((one) => one.groups));
        return found.length > 0 && isSameValue(now, groups);
      }
      default:
        return kind === 'key';
    }
  }

  #judge(token: VerifiedToken, audiences: ReadonlySet<string>): Identity {
    const accepted = this.#tokens.audiencesOf(token);
    const isMeantForUs = token.audiences.some(
      (one) => audiences.has(one) || accepted.includes(one),
    );
    if (isMeantForUs) return token.principal;
    const expected = [...audiences, ...accepted].join(' or ');
    return new RefusedToken('audience', { claim: 'aud', expected, given: token.audiences });
  }

  // The certificate was valid when the connection was opened, which may be long ago.
  #certified({ names, expiresAtMs }: Credentials['certificate']): Identity {
    for (const name of names) {
      const found = this.#certificates.filter(({ san }) => matchesGlob(san, name));
      if (found.length === 0) continue;
      if (expiresAtMs <= wallClockMs()) return 'invalid';
      return this.#certificatePrincipal(name, expiresAtMs, found);
    }
    return 'missing';
  }

  // One object for each name and end, because policies cache their decisions by object.
  #certificatePrincipal(
    name: string,
    expiresAtMs: number,
    found: readonly CertificateOptions[],
  ): Principal {
    const id = `${expiresAtMs} ${name}`;
    const known = this.#byCertificate.get(id);
    if (known !== undefined) return known;
    const principal: Principal = Object.freeze({
      key: principalKey('certificate', [name]),
      kind: 'certificate',
      name,
      groups: new Set(found.flatMap(({ groups }) => groups)),
      scopes: new Set<string>(),
      expiresAtMs,
    });
    if (this.#byCertificate.size >= MAX_CERTIFICATES) this.#byCertificate.clear();
    this.#byCertificate.set(id, principal);
    return principal;
  }
}

const MAX_CERTIFICATES = 10_000;
const BEARER = /^bearer +([^\s,]+) *$/i;

/** @returns undefined if there is no secret; empty if it can't be a valid one */
function secretOf({ authorization, apiKey }: Credentials): string | undefined {
  if (authorization === undefined) return apiKey;
  // Two secrets could belong to two clients.
  if (apiKey !== undefined) return '';
  if (authorization.startsWith('Bearer ') && !authorization.includes(' ', 7)) {
    return authorization.slice(7);
  }
  return BEARER.exec(authorization)?.[1] ?? '';
}
