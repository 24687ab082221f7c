// How the gateway comes in at one remote server: headers, tokens, certificates, how long the server wants
// to be left alone, and how much of what it sends is read at a time. One for all connections to that server, whosever they are; a client's own
// credentials are never among what is sent (2025-06-18 basic/authorization; docs/reliability.md#d01).
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
/** Clients of which tokens are kept; those that were seen last. */
const MAX_TOKENS = 1_000;
/** A server that says more must not be out of reach for so long by one header. */
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
  /** Until when the server wants to be left alone, by whose requests: '' where all come in as one. */
  readonly #quietUntilMs = new RecentMap<string, number>(MAX_TOKENS);

  /** @param network how names are looked up, by default as the system does, and which proxies there are */
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

  /** Opens connections, through a proxy where there is one. */
  pool(url: URL, options: Omit<HttpPoolOptions, 'connect'>): HttpPool {
    const connect: Connector = (to, callback) => this.#connector.connect(to, callback);
    return openPool(url.origin, { ...options, connect }, proxyUse(url, this.#policy, SUBJECT));
  }

  /**
   * The headers of a request, at once where nothing has to be asked for.
   * @param principal whose request it is; undefined where it is the gateway's own, and all share the connection
   * @throws HttpFailure when no token can be had
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
   * The server refused a request with these headers (HTTP 401).
   * @returns whether the same request may come in with other ones
   */
  refused(sent: Headers, principal: Principal | undefined): boolean {
    const { auth } = this.#target;
    const isNew = this.#headers.look();
    if (auth === undefined) {
      const now = this.#headers.current();
      return isNew || Object.entries(now).some(([name, value]) => sent[name] !== value);
    }
    // Maybe it was refused for a secret that is another one by now.
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

  /** Whom the server takes a request to be of: it counts those of each client's token apart. */
  #callerOf(principal: Principal | undefined): string {
    return this.#target.auth?.type === 'token_exchange' ? (principal?.key ?? '') : '';
  }

  /** The server said, to a request, for how long it wants to be left alone. */
  leaveAlone(ms: number, principal: Principal | undefined): void {
    const untilMs = monotonicMs() + Math.min(ms, MAX_QUIET_MS);
    this.#quietUntilMs.set(this.#callerOf(principal), untilMs);
  }

  /** What requests fail with while the server wants to be left alone; else undefined. */
  quiet(principal: Principal | undefined): RequestFailure | undefined {
    if (this.#quietUntilMs.size === 0) return undefined;
    const leftMs = (this.#quietUntilMs.get(this.#callerOf(principal)) ?? 0) - monotonicMs();
    return leftMs <= 0 ? undefined : leftAlone(leftMs);
  }
}

const NO_SUBJECT = notCalled(
  'was not called: it is called in the name of each client with an access token of theirs, and you came without one.',
);

/** A token in the name of a client does not outlive the client's own. */
function within(token: IssuedToken, { expiresAtMs }: Principal): IssuedToken {
  if (expiresAtMs === undefined) return token;
  return { ...token, lifetimeMs: Math.min(token.lifetimeMs, expiresAtMs - wallClockMs()) };
}

/**
 * The failure of a call while a server wants to be left alone.
 * @param ms how long, in milliseconds
 */
export function leftAlone(ms: number): RequestFailure {
  const seconds = Math.ceil(ms / 1_000);
  return {
    reason: 'rate_limited',
    outcome: 'not_sent',
    what: `wants to be left alone for ${seconds} s (HTTP 429); try again then.`,
    retryAfterMs: seconds * 1_000,
  };
}
