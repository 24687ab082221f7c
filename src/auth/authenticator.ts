// From what a request presents to who sends it. Every way out that is not a principal is a refusal;
// nothing here has a default identity.

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

/** What a request presents. */
export interface Credentials {
  /** `Authorization` as it came. */
  readonly authorization: string | undefined;
  /** `X-API-Key` as it came. */
  readonly apiKey: string | undefined;
  /** The client certificate that the listener verified: its subject alternative names, and its end. */
  readonly certificate: { readonly names: readonly string[]; readonly expiresAtMs: number };
}

/** Why a request has no principal. */
export type AuthenticationFailure =
  /** Nothing was presented. */
  | 'missing'
  /** What was presented is not good. */
  | 'invalid'
  /** Nothing can be said about it now. */
  | 'unavailable';

export type Identity = Principal | AuthenticationFailure | RefusedToken;

/** Says who sends a request. */
export class Authenticator {
  readonly #options: AuthOptions;
  readonly #keys: KeyRing | undefined;
  readonly #tokens: TokenVerifier;
  /** Without issuers no secret is a token, so nothing is said of tokens. */
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
   * Reads what has to be read.
   * @throws KeyFileError
   */
  open(): void {
    this.#keys?.open();
  }

  close(): void {
    this.#keys?.close();
  }

  /**
   * Decides from what is known without waiting.
   *
   * @param audiences of the endpoint: addresses that a token may be meant for
   * @returns undefined when a token has to be verified first
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

  /** Decides about a token that `identify` does not know. */
  async verify(credentials: Credentials, audiences: ReadonlySet<string>): Promise<Identity> {
    try {
      const token = await this.#tokens.verify(secretOf(credentials) ?? '');
      return token instanceof RefusedToken ? token : this.#judge(token, audiences);
    } catch (error) {
      return error instanceof KeysUnavailable ? 'unavailable' : 'invalid';
    }
  }

  /** Whether a principal that came in once would still come in. */
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

  // It was good when its connection came, which may be long ago.
  #certified({ names, expiresAtMs }: Credentials['certificate']): Identity {
    for (const name of names) {
      const found = this.#certificates.filter(({ san }) => matchesGlob(san, name));
      if (found.length === 0) continue;
      if (expiresAtMs <= wallClockMs()) return 'invalid';
      return this.#certificatePrincipal(name, expiresAtMs, found);
    }
    return 'missing';
  }

  // One object for each name and end, since policies remember what they decided about one.
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

/** @returns undefined when there is none, empty when what is there can't be one */
function secretOf({ authorization, apiKey }: Credentials): string | undefined {
  if (authorization === undefined) return apiKey;
  // Two secrets could be two people.
  if (apiKey !== undefined) return '';
  if (authorization.startsWith('Bearer ') && !authorization.includes(' ', 7)) {
    return authorization.slice(7);
  }
  return BEARER.exec(authorization)?.[1] ?? '';
}
