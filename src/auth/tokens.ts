// Verifies access tokens of authorization servers (JWT). Signature, issuer, times and form are verified once,
// and the result is kept until the token expires. The audience is checked each time (2026-07-28
// basic/authorization; RFC 9068, RFC 8725).
import { hash } from 'node:crypto';
import type { JWTPayload, JWTVerifyGetKey } from 'jose';
import { wallClockMs } from '../base/clock.ts';
import { formatDuration } from '../base/duration.ts';
import { codeOf } from '../base/errors.ts';
import type { ProxyRules } from '../base/proxies.ts';
import { membersOf } from '../jsonrpc/members.ts';
import type { Logger } from '../observe/logger.ts';
import type { Principal } from '../ports/principal.ts';
import { IssuerKeys, KeysUnavailable } from './issuer-keys.ts';
import type { AuthOptions, IssuerOptions } from './options.ts';
import { principalKey } from './principal-key.ts';
import { RefusedToken } from './refused-token.ts';

const MAX_TOKEN_LENGTH = 16 * 1024;
const MAX_NAME_LENGTH = 1024;
const MAX_CACHED = 10_000;
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;
/** Values of `typ` for access tokens, and for tokens that don't say what they are. */
const TYPES: ReadonlySet<unknown> = new Set([undefined, 'jwt', 'at+jwt', 'application/at+jwt']);
const NO_MATCHING_KEY = 'ERR_JWKS_NO_MATCHING_KEY';
const SEVERAL_KEYS = 'ERR_JWKS_MULTIPLE_MATCHING_KEYS';
const WRONG_SIGNATURE = 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED';
const EXPIRED = 'ERR_JWT_EXPIRED';
const WRONG_CLAIM = 'ERR_JWT_CLAIM_VALIDATION_FAILED';
const WRONG_ALGORITHM = 'ERR_JOSE_ALG_NOT_ALLOWED';

type Jose = typeof import('jose');

/** A token with a valid signature. */
export interface VerifiedToken {
  readonly principal: Principal;
  readonly audiences: readonly string[];
  readonly expiresAtMs: number;
}

interface TrustedIssuer {
  readonly options: IssuerOptions;
  readonly keys: IssuerKeys;
}

/** Verifies tokens of the configured issuers. */
export class TokenVerifier {
  readonly #options: readonly IssuerOptions[];
  readonly #keepsTokens: boolean;
  readonly #logger: Logger;
  readonly #proxies: ProxyRules | undefined;
  /** By hash, so that a memory dump contains fewer tokens. */
  readonly #verified = new Map<string, VerifiedToken>();
  readonly #pending = new Map<string, Promise<VerifiedToken | RefusedToken>>();
  #tools: Promise<{ jose: Jose; issuers: Map<string, TrustedIssuer> }> | undefined;

  constructor(
    options: Pick<AuthOptions, 'issuers' | 'keepsTokens'>,
    logger: Logger,
    proxies?: ProxyRules,
  ) {
    this.#proxies = proxies;
    this.#options = options.issuers;
    this.#keepsTokens = options.keepsTokens === true;
    this.#logger = logger;
  }

  /** Audiences that all tokens of its issuer may have. */
  audiencesOf(token: VerifiedToken): readonly string[] {
    const issuer = token.principal.claims?.['iss'];
    return this.#options.find((one) => one.issuer === issuer)?.audiences ?? [];
  }

  /** A token that was verified before; undefined if it is not known. */
  known(token: string): VerifiedToken | undefined {
    const key = hash('sha256', token, 'base64url');
    const found = this.#verified.get(key);
    if (found === undefined || found.expiresAtMs > wallClockMs()) return found;
    this.#verified.delete(key);
    return undefined;
  }

  /**
   * Verifies a token.
   * @returns the reason if it is not valid
   * @throws KeysUnavailable if the keys of its issuer can't be fetched
   */
  async verify(token: string): Promise<VerifiedToken | RefusedToken> {
    if (token.length > MAX_TOKEN_LENGTH) {
      const expected = `at most ${MAX_TOKEN_LENGTH} characters`;
      return new RefusedToken('malformed', { expected, given: `${token.length} characters` });
    }
    if (!TOKEN.test(token)) return new RefusedToken('malformed', { expected: 'a JWT' });
    const key = hash('sha256', token, 'base64url');
    let pending = this.#pending.get(key);
    if (pending === undefined) {
      pending = this.#verifyOnce(token, key).finally(() => this.#pending.delete(key));
      this.#pending.set(key, pending);
    }
    return await pending;
  }

  async #verifyOnce(token: string, key: string): Promise<VerifiedToken | RefusedToken> {
    try {
      const verified = await this.#check(token);
      if (!(verified instanceof RefusedToken)) this.#remember(key, verified);
      return verified;
    } catch (error) {
      if (error instanceof KeysUnavailable) throw error;
      return new RefusedToken('malformed', { expected: 'a JWT', given: codeOf(error) });
    }
  }

  async #check(token: string): Promise<VerifiedToken | RefusedToken> {
    const { jose, issuers } = await this.#loaded();
    const { iss } = jose.decodeJwt(token);
    const issuer = issuers.get(iss ?? '');
    if (issuer === undefined) {
      const expected = [...issuers.keys()].join(' or ');
      return new RefusedToken('issuer', { claim: 'iss', expected, given: iss });
    }
    const { options } = issuer;
    const header = jose.decodeProtectedHeader(token);
    if (!TYPES.has(header.typ?.toLowerCase())) return wrongType(header.typ);
    if (hasDuplicateKeys(token))
      return new RefusedToken('malformed', { expected: 'no member twice' });
    const verify = async (key: JWTVerifyGetKey): Promise<JWTPayload> => {
      const { payload } = await jose.jwtVerify(token, key, {
        issuer: options.issuer,
        algorithms: [...options.algorithms],
        requiredClaims: ['sub', 'exp', 'aud'],
        clockTolerance: options.clockSkew / 1_000,
        ...(options.tokenType === 'at+jwt' ? { typ: 'at+jwt' } : {}),
      });
      return payload;
    };
    const kept = this.#keepsTokens ? token : undefined;
    try {
      return verifiedToken(await withRightKey(verify, issuer.keys), options, kept);
    } catch (error) {
      if (error instanceof KeysUnavailable) throw error;
      return refusalBy(error, header, options);
    }
  }

  /** Loaded once, and again after a failure: without a free file descriptor it can't be loaded. */
  async #loaded(): Promise<{ jose: Jose; issuers: Map<string, TrustedIssuer> }> {
    this.#tools ??= this.#load();
    try {
      return await this.#tools;
    } catch (error) {
      this.#tools = undefined;
      throw error;
    }
  }

  async #load(): Promise<{ jose: Jose; issuers: Map<string, TrustedIssuer> }> {
    // Loaded only if there are issuers.
    const jose = await import('jose');
    const issuers = new Map(
      this.#options.map((options) => {
        const keys = new IssuerKeys(
          options.jwksUrl,
          jose.createLocalJWKSet,
          this.#logger,
          this.#proxies,
        );
        return [options.issuer, { options, keys }];
      }),
    );
    return { jose, issuers };
  }

  #remember(key: string, token: VerifiedToken): void {
    for (const oldest of this.#verified.keys()) {
      if (this.#verified.size < MAX_CACHED) break;
      this.#verified.delete(oldest);
    }
    this.#verified.set(key, token);
  }
}

/** A token may name a key that is very new, or no key at all. */
async function withRightKey(
  verify: (key: JWTVerifyGetKey) => Promise<JWTPayload>,
  keys: IssuerKeys,
): Promise<JWTPayload> {
  const current = await keys.current();
  try {
    return await verify(current);
  } catch (error) {
    if (codeOf(error) === SEVERAL_KEYS) return await withAnyOf(error, verify);
    const newer = codeOf(error) === NO_MATCHING_KEY ? await keys.newer() : undefined;
    if (newer === undefined) throw error;
    return await verify(newer);
  }
}

async function withAnyOf(
  several: unknown,
  verify: (key: JWTVerifyGetKey) => Promise<JWTPayload>,
): Promise<JWTPayload> {
  for await (const key of several as AsyncIterable<Awaited<ReturnType<JWTVerifyGetKey>>>) {
    try {
      return await verify(() => Promise.resolve(key));
    } catch (error) {
      if (codeOf(error) !== WRONG_SIGNATURE) throw error;
    }
  }
  throw several;
}

/** Translates an error of the library into a reason. */
function refusalBy(
  error: unknown,
  { alg, kid, typ }: { readonly alg?: string; readonly kid?: string; readonly typ?: string },
  { algorithms, clockSkew }: IssuerOptions,
): RefusedToken {
  const code = codeOf(error);
  switch (code) {
    case WRONG_ALGORITHM:
      return new RefusedToken('algorithm', {
        claim: 'alg',
        expected: algorithms.join(' or '),
        given: alg,
      });
    case NO_MATCHING_KEY:
      return new RefusedToken('key', {
        claim: 'kid',
        expected: "one of the issuer's keys, for this algorithm",
        given: kid,
      });
    case SEVERAL_KEYS:
    case WRONG_SIGNATURE:
      return new RefusedToken('signature');
    case EXPIRED:
    case WRONG_CLAIM: {
      const { claim = '', payload } = error as { readonly claim?: string; payload?: JWTPayload };
      const given = payload?.[claim];
      if (claim === 'typ') return wrongType(typ);
      if (code === EXPIRED) return wrongTime('expired', 'exp', 'in the future', given);
      const isEarly = claim === 'nbf' && typeof given === 'number';
      if (isEarly) return wrongTime('not_before', 'nbf', latest(clockSkew), given);
      const expected = given === undefined ? 'to be there' : 'another value';
      return new RefusedToken('claim', { claim, expected, given });
    }
    default:
      return new RefusedToken('malformed', { expected: 'a signed JWT', given: code });
  }
}

function wrongType(given: unknown): RefusedToken {
  return new RefusedToken('type', { claim: 'typ', expected: 'at+jwt, or JWT where any is', given });
}

function wrongTime(
  reason: 'expired' | 'not_before' | 'issued_at' | 'lifetime',
  claim: string,
  expected: string,
  given: unknown,
): RefusedToken {
  if (typeof given !== 'number') return new RefusedToken(reason, { claim, expected, given });
  const seconds = Math.round(given - wallClockMs() / 1_000);
  const distance = seconds < 0 ? `${-seconds} s ago` : `in ${seconds} s`;
  return new RefusedToken(reason, { claim, expected, given: `${given} (${distance})` });
}

/** The expected value of a time that must be over. */
function latest(skewMs: number): string {
  return skewMs === 0 ? 'in the past' : `at most ${formatDuration(skewMs)} ahead (clockSkew)`;
}

function faultOf(payload: JWTPayload, options: IssuerOptions): RefusedToken | undefined {
  const { sub, exp, iat } = payload;
  const { maxLifetime, clockSkew } = options;
  if (typeof sub !== 'string' || sub === '' || sub.length > MAX_NAME_LENGTH) {
    const expected = `text of 1 to ${MAX_NAME_LENGTH} characters`;
    return new RefusedToken('claim', { claim: 'sub', expected, given: sub });
  }
  const nowMs = wallClockMs();
  if (iat !== undefined && !(iat * 1_000 <= nowMs + clockSkew)) {
    return wrongTime('issued_at', 'iat', latest(clockSkew), iat);
  }
  if (!(Number(exp) * 1_000 <= nowMs + maxLifetime + clockSkew)) {
    const expected = `in ${formatDuration(maxLifetime)} at most (maxLifetime)`;
    return wrongTime('lifetime', 'exp', expected, exp);
  }
  return undefined;
}

function verifiedToken(
  payload: JWTPayload,
  options: IssuerOptions,
  kept: string | undefined,
): VerifiedToken | RefusedToken {
  const fault = faultOf(payload, options);
  if (fault !== undefined) return fault;
  // The library has checked that these are there.
  const { iss = '', sub = '', exp = 0, aud } = payload;
  const clientId = textOf(payload['client_id']) ?? textOf(payload['azp']) ?? '';
  const expiresAtMs = exp * 1_000 + options.clockSkew;
  const principal: Principal = Object.freeze({
    key: principalKey('token', [iss, sub, clientId]),
    quotaKey: principalKey('token', [iss, sub]),
    kind: 'token',
    name: sub,
    groups: new Set(textsOf(payload[options.groupsClaim])),
    scopes: new Set([...wordsOf(payload['scope']), ...wordsOf(payload['scp'])]),
    claims: Object.freeze({ ...payload }),
    expiresAtMs,
    ...(kept === undefined ? {} : { token: () => kept }),
  });
  const audiences = (Array.isArray(aud) ? aud : [aud]).filter((one) => typeof one === 'string');
  return { principal, audiences, expiresAtMs };
}

/** JSON parsers differ in which of two equal members they use, so such claims are refused. */
function hasDuplicateKeys(token: string): boolean {
  return token.split('.', 2).some((part) => {
    const bytes = Buffer.from(part, 'base64url');
    const keys = membersOf(bytes, bytes.indexOf('{'), bytes.length).map(({ key }) => key);
    return new Set(keys).size < keys.length;
  });
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function textsOf(value: unknown): string[] {
  const values: unknown[] = Array.isArray(value) ? value : [value];
  return values.filter((one) => typeof one === 'string');
}

function wordsOf(value: unknown): string[] {
  return textsOf(value).flatMap((text) => text.split(' ').filter((word) => word !== ''));
}
