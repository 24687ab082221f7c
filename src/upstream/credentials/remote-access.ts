// Access to one remote server: headers, tokens, certificates, when the server may be called again, and how
// much of its output is read at a time. All connections to that server share it. A client's own credentials
// are never sent (2025-06-18 basic/authorization; docs/reliability.md#d01).
import { monotonicMs, wallClockMs } from '../../base/clock.ts';
import {
  type Connector,
  type HttpPool,
  type HttpPoolOptions,
  openPool,
} from '../../base/http-pool.ts';
import { RecentMap } from '../../base/recent-map.ts';
import type { TextTemplate } from '../../base/text-template.ts';
import { TurnQuota } from '../../base/turns.ts';
import type { Logger } from '../../observe/logger.ts';
import type { RequestFailure } from '../../ports/channel.ts';
import type { Principal } from '../../ports/principal.ts';
import { AccessToken } from './access-token.ts';
import { type DialPolicy, proxyUse } from './dialling.ts';
import { notCalled } from './http-failure.ts';
import type { OAuthOptions } from './options.ts';
import { isHeaderValue, type RemoteTarget } from './options.ts';
import { ownCertificate, ReloadingConnector, SUBJECT } from './reloading-connector.ts';
import { TemplateValues } from './template-values.ts';
import { type IssuedToken, requestToken, type TokenCredentials } from './token-request.ts';

/** How much of what one server sends is read in a turn of the event loop. */
const TURN_BYTES = 512 * 1024;
/** The most clients whose tokens are kept; the most recently used ones. */
const MAX_TOKENS = 1_000;
/**
 * A server that asks for a longer pause gets this one, so that one header can't make it unreachable for long.
 */
const MAX_QUIET_MS = 60_000;

export type Headers = Readonly<Record<string, string>>;

/** The access to one server. */
export class RemoteAccess {
  readonly #target: RemoteTarget;
  readonly #logger: Logger;
  readonly #headers: TemplateValues;
  readonly #secret: TemplateValues;
  readonly #tokens = new RecentMap<string, AccessToken>(MAX_TOKENS);
  readonly #policy: DialPolicy;
  readonly #connector: ReloadingConnector;
  /** How much of what the server sends is read in a turn of the event loop, on all connections. */
  readonly reading = new TurnQuota(TURN_BYTES);
  /**
   * When the server may be called again, in monotonic milliseconds, by caller; '' if all calls use one
   * identity.
   */
  readonly #quietUntilMs = new RecentMap<string, number>(MAX_TOKENS);

  /** @param network how names are resolved, by default by the system, and the proxies of the environment */
  constructor(
    target: RemoteTarget,
    logger: Logger,
    network: Pick<DialPolicy, 'resolve' | 'proxies'> = {},
  ) {
    this.#target = target;
    this.#logger = logger;
    this.#headers = new TemplateValues(target.headerTemplates, isHeaderValue, logger);
    const clientSecret = target.auth?.clientSecret;
    const secret: Record<string, TextTemplate> = clientSecret === undefined ? {} : { clientSecret };
    this.#secret = new TemplateValues(secret, (value) => value !== '', logger);
    this.#policy = { allowPrivate: target.allowPrivate, proxy: target.proxy, ...network };
    this.#connector = new ReloadingConnector(target.tls, this.#policy);
  }

  /** Opens connections, through a proxy if there is one. */
  pool(url: URL, options: Omit<HttpPoolOptions, 'connect'>): HttpPool {
    const connect: Connector = (to, callback) => this.#connector.connect(to, callback);
    return openPool(url.origin, { ...options, connect }, proxyUse(url, this.#policy, SUBJECT));
  }

  /**
   * The headers of a request; a promise only if a token must be requested.
   * @param principal of the request; undefined for requests of the gateway itself on a shared connection
   * @throws HttpFailure if no token is available
   */
  headers(principal: Principal | undefined): Headers | Promise<Headers> {
    const { headers, auth } = this.#target;
    const own = { ...headers, ...this.#headers.current() };
    if (auth === undefined) return own;
    const token = this.#tokenOf(auth, principal).current();
    if (typeof token === 'string') return { ...own, authorization: `Bearer ${token}` };
    return token.then((value) => ({ ...own, authorization: `Bearer ${value}` }));
  }

  /**
   * Notes that the server refused a request with these headers (HTTP 401).
   * @returns whether the same request may be accepted with other ones
   */
  refused(sent: Headers, principal: Principal | undefined): boolean {
    const { auth } = this.#target;
    const isNew = this.#headers.look();
    if (auth === undefined) {
      const now = this.#headers.current();
      return isNew || Object.entries(now).some(([name, value]) => sent[name] !== value);
    }
    // Perhaps a secret has changed since it was read.
    this.#secret.look();
    const token = this.#tokenOf(auth, principal);
    return token.refused(sent['authorization']?.slice('Bearer '.length) ?? '') || isNew;
  }

  #tokenOf(auth: OAuthOptions, principal: Principal | undefined): AccessToken {
    const request = (subject?: string): Promise<IssuedToken> =>
      requestToken(auth, this.#credentials(auth, subject), this.#policy);
    if (auth.type === 'client_credentials') {
      return this.#tokens.getOrMake('', () => new AccessToken(() => request(), this.#logger));
    }
    const subject = principal?.token?.();
    if (principal === undefined || subject === undefined) throw NO_SUBJECT;
    return this.#tokens.getOrMake(
      subject,
      () => new AccessToken(async () => within(await request(subject), principal), this.#logger),
    );
  }

  #credentials({ clientAuth }: OAuthOptions, subject: string | undefined): TokenCredentials {
    const showsCertificate = clientAuth === 'certificate';
    return {
      secret: this.#secret.current()['clientSecret'] ?? '',
      certificate: showsCertificate ? ownCertificate(this.#target.tls) : {},
      subject,
    };
  }

  /** The identity for which the server counts requests: with token exchange, each client separately. */
  #callerOf(principal: Principal | undefined): string {
    return this.#target.auth?.type === 'token_exchange' ? (principal?.key ?? '') : '';
  }

  /** Notes that the server asked for a pause, in the answer to a request. */
  leaveAlone(ms: number, principal: Principal | undefined): void {
    const untilMs = monotonicMs() + Math.min(ms, MAX_QUIET_MS);
    this.#quietUntilMs.set(this.#callerOf(principal), untilMs);
  }

  /** The failure of requests during such a pause; otherwise undefined. */
  quiet(principal: Principal | undefined): RequestFailure | undefined {
    if (this.#quietUntilMs.size === 0) return undefined;
    const leftMs = (this.#quietUntilMs.get(this.#callerOf(principal)) ?? 0) - monotonicMs();
    return leftMs <= 0 ? undefined : leftAlone(leftMs);
  }
}

const NO_SUBJECT = notCalled(
  'was not called: it needs the access token of each client, and your request has none.',
);

/** An exchanged token is not used for longer than the client's own token is valid. */
function within(token: IssuedToken, { expiresAtMs }: Principal): IssuedToken {
  if (expiresAtMs === undefined) return token;
  return { ...token, lifetimeMs: Math.min(token.lifetimeMs, expiresAtMs - wallClockMs()) };
}

/**
 * The failure of a call during a pause.
 * @param ms length of the pause, in milliseconds
 */
export function leftAlone(ms: number): RequestFailure {
  const seconds = Math.ceil(ms / 1_000);
  return {
    reason: 'rate_limited',
    outcome: 'not_sent',
    what: `accepts no requests for ${seconds} s (HTTP 429); try again then.`,
    retryAfterMs: seconds * 1_000,
  };
}
