// Decides whether a request is accepted: who sends it, whether this principal may use the endpoint, and
// whether it sends too much. Every request of every transport passes here, before any of its body is read.
import type { IncomingMessage } from 'node:http';
import { ANONYMOUS, OPEN_POLICY } from '../auth/anonymous.ts';
import { type AuthenticationFailure, Authenticator, type Identity } from '../auth/authenticator.ts';
import type { AuthOptions } from '../auth/options.ts';
import { RulePolicy } from '../auth/policy.ts';
import { ProtectedResource } from '../auth/protected-resource.ts';
import { RefusedToken, TokenRefusals } from '../auth/refused-token.ts';
import { Tickets } from '../auth/tickets.ts';
import { TokenBuckets } from '../auth/token-buckets.ts';
import { monotonicMs } from '../base/clock.ts';
import type { ProxyRules } from '../base/proxies.ts';
import { isSameValue } from '../base/same-value.ts';
import { networkOf } from '../http/network.ts';
import type { Logger } from '../observe/logger.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RequestWatchers } from '../observe/request-meter.ts';
import type { Endpoint } from '../ports/dispatcher.ts';
import { type AccessPolicy, isAnonymous, type Principal, quotaKeyOf } from '../ports/principal.ts';
import { TrustedProxies } from './client-address.ts';
import { REFUSALS, type Refusal } from './error-response.ts';
import type { LimitOptions, ListenOptions } from './options.ts';
import type { Route } from './paths.ts';
import { credentialsOf, ticketOf } from './presented.ts';

/** A client that is accepted, or the answer that refuses it. */
export type AccessDecision =
  | { readonly principal: Principal }
  | { readonly refusal: Refusal }
  /** The client is known, but the endpoint does not exist for it. */
  | { readonly nothingFor: Principal };

export interface GatekeeperParts {
  readonly listen: ListenOptions;
  readonly limits: LimitOptions;
  /** Undefined without authentication. */
  readonly auth: AuthOptions | undefined;
  /** Looked up each time: a reload may put others in their place. */
  readonly watchers: Pick<RequestWatchers, 'audit' | 'loads'>;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly proxies: ProxyRules | undefined;
  /** Called when principals may have lost access. */
  changed(): void;
}

/** Parts that exist only with authentication. */
interface AuthParts {
  readonly authenticator: Authenticator;
  readonly policy: RulePolicy;
  readonly resource: ProtectedResource;
  readonly tickets: Tickets;
}

const ADMIT_ANYBODY: AccessDecision = { principal: ANONYMOUS };
/** Accepts or refuses requests. */
export class Gatekeeper {
  readonly proxies: TrustedProxies;
  readonly #parts: GatekeeperParts;
  #guards: AuthParts | undefined;
  #auth: AuthOptions | undefined;
  #limits: LimitOptions;
  #audiences = new WeakMap<object, ReadonlySet<string>>();
  #perAddress: TokenBuckets | undefined;
  #perPrincipal: TokenBuckets | undefined;
  #failures: TokenBuckets;
  readonly #refusals: TokenRefusals;

  constructor(parts: GatekeeperParts) {
    const { auth, listen, limits } = parts;
    this.#parts = parts;
    this.proxies = new TrustedProxies(listen.trustedProxies);
    this.#auth = auth;
    this.#limits = limits;
    this.#guards = auth && this.#createGuards(auth);
    this.#perAddress = bucketsOf(limits.addressRequestsPerSecond);
    this.#perPrincipal = auth && bucketsOf(limits.requestsPerSecond);
    this.#refusals = new TokenRefusals(parts);
    this.#failures = failuresOf(limits);
  }

  /**
   * Makes ready to decide by other options.
   * @returns puts them in force, all at once
   * @throws KeyFileError when the keys can't be read
   */
  prepare(auth: AuthOptions | undefined, limits: LimitOptions): () => void {
    const before = this.#guards;
    const isSame = isSameValue(auth, this.#auth);
    const guards = isSame ? before : auth && this.#createGuards(auth, before);
    if (!isSame) guards?.authenticator.open();
    return () => {
      if (!isSame) before?.authenticator.close();
      this.#guards = guards;
      this.#auth = auth;
      // They depend on whether anybody has to authenticate.
      this.#audiences = new WeakMap();
      const { requestsPerSecond, addressRequestsPerSecond, failedLoginsPerMinute } = this.#limits;
      const isOn = (this.#perPrincipal !== undefined) === (auth !== undefined);
      if (limits.addressRequestsPerSecond !== addressRequestsPerSecond) {
        this.#perAddress = bucketsOf(limits.addressRequestsPerSecond);
      }
      if (!isOn || limits.requestsPerSecond !== requestsPerSecond) {
        this.#perPrincipal = auth && bucketsOf(limits.requestsPerSecond);
      }
      if (limits.failedLoginsPerMinute !== failedLoginsPerMinute) {
        this.#failures = failuresOf(limits);
      }
      this.#limits = limits;
    };
  }

  #createGuards(auth: AuthOptions, before?: AuthParts): AuthParts {
    const { listen, logger, changed, proxies } = this.#parts;
    const { allow, onDenied } = this.#auth ?? {};
    const haveSameRules =
      before !== undefined && isSameValue([allow, onDenied], [auth.allow, auth.onDenied]);
    return {
      authenticator: new Authenticator(auth, logger, changed, proxies, before?.authenticator),
      // Lists of clients are made by it.
      policy: haveSameRules ? before.policy : new RulePolicy(auth.allow, auth.onDenied),
      resource: new ProtectedResource(auth, listen.publicUrl),
      tickets: before?.tickets ?? new Tickets(),
    };
  }

  /** What each principal may see and use. */
  get policy(): AccessPolicy {
    return this.#guards?.policy ?? OPEN_POLICY;
  }

  /** Whether authentication is required. */
  get isOn(): boolean {
    return this.#guards !== undefined;
  }

  /**
   * Reads the key file.
   * @throws KeyFileError
   */
  open(): void {
    this.#guards?.authenticator.open();
  }

  close(): void {
    this.#guards?.authenticator.close();
  }

  /** Whether a principal would still be accepted. */
  holds(principal: Principal): boolean {
    return this.#guards?.authenticator.holds(principal) ?? true;
  }

  /** Whether a principal can't come back: its key was taken back, or is not asked for any more. */
  isRevoked(principal: Principal): boolean {
    return this.#guards?.authenticator.isRevoked(principal) ?? !isAnonymous(principal);
  }

  /**
   * Decides about a request; a promise only if a token must be verified. With authentication every path
   * requires it, so that strangers can't find out which paths are endpoints.
   * @param route undefined: there is no such endpoint
   */
  admit(
    request: IncomingMessage,
    route: Route | undefined,
  ): AccessDecision | Promise<AccessDecision> {
    const waitMs = this.#perAddress?.take(this.#networkOf(request), monotonicMs()) ?? 0;
    if (waitMs > 0) return { refusal: this.#tooMany(waitMs) };
    const guards = this.#guards;
    if (guards === undefined) return ADMIT_ANYBODY;
    const ticket = ticketOf(request);
    if (ticket !== undefined) {
      const holder = guards.tickets.redeem(ticket, route?.served.endpoint.name ?? '');
      const isGood = holder !== undefined && guards.authenticator.holds(holder);
      return this.#conclude(guards, request, route, isGood ? holder : 'invalid');
    }
    const credentials = credentialsOf(request);
    const audiences = this.#audiencesOf(guards, route);
    const identity = guards.authenticator.identify(credentials, audiences);
    if (identity !== undefined) return this.#conclude(guards, request, route, identity);
    // After failed logins from the same address, only credentials that are not known yet are refused, because
    // checking them costs something. So nobody can lock out a neighbour.
    const failedMs = this.#failures.waitMs(this.#networkOf(request), monotonicMs());
    if (failedMs > 0) return { refusal: this.#tooMany(failedMs) };
    return guards.authenticator
      .verify(credentials, audiences)
      .then((verified) => this.#conclude(guards, request, route, verified));
  }

  /**
   * Decides again when the body has arrived, which may be much later.
   * @returns undefined if the client may continue
   */
  recheck(request: IncomingMessage, route: Route, principal: Principal): Refusal | undefined {
    const guards = this.#guards;
    if (guards === undefined || guards.authenticator.holds(principal)) return undefined;
    return this.#denied(guards, request, route, 'invalid');
  }

  /**
   * Counts a message of an accepted principal, on a channel that stays open.
   * @returns 0, or how many milliseconds it is too early
   */
  takeMessage(principal: Principal): number {
    return this.#perPrincipal?.take(quotaKeyOf(principal), monotonicMs()) ?? 0;
  }

  /** Counts the messages of a batch after the first one, which is already counted. */
  takeBatch(principal: Principal, messages: number): void {
    this.#perPrincipal?.owe(quotaKeyOf(principal), messages - 1, monotonicMs());
  }

  /**
   * The headers of a 403 for a client that may get more scopes.
   * @param scopes that would be enough; none: more scopes would not help
   */
  stepUp(route: Route, scopes: readonly string[]): Refusal['headers'] {
    const resource = this.#guards?.resource;
    if (resource === undefined || scopes.length === 0) return undefined;
    const error = 'insufficient_scope';
    return { 'www-authenticate': resource.challenge(challengedPath(route), { error, scopes }) };
  }

  /** Whether an endpoint exists for a principal. */
  opens(route: Route, principal: Principal | undefined): boolean {
    const guards = this.#guards;
    if (guards === undefined) return true;
    return principal !== undefined && isOpenTo(guards.policy, route.served.endpoint, principal);
  }

  /** The same for who is there already. */
  opensEndpoint(endpoint: Endpoint, principal: Principal): boolean {
    return this.#guards === undefined || isOpenTo(this.#guards.policy, endpoint, principal);
  }

  /** Makes a ticket for an accepted principal. */
  issueTicket(principal: Principal, route: Route): ReturnType<Tickets['issue']> {
    return this.#guards?.tickets.issue(principal, route.served.endpoint.name);
  }

  /**
   * The metadata document for a request target (RFC 9728); undefined if it is the target of something else.
   */
  metadata(target: string, find: (path: string) => Route | undefined): object | undefined {
    const guards = this.#guards;
    const path = guards?.resource.resourcePath(target.split('?', 1)[0] ?? '');
    if (guards === undefined || path === undefined) return undefined;
    if (path === '')
      return guards.resource.document('', guards.policy.scopesFor(serversOf(undefined)));
    const route = find(path);
    if (route === undefined || route.kind === 'messages' || route.kind === 'tickets') {
      return undefined;
    }
    return guards.resource.document(route.path, guards.policy.scopesFor(serversOf(route)));
  }

  /**
   * The network of a request's address, which is what is limited: one client may have very many IPv6
   * addresses.
   */
  #networkOf(request: IncomingMessage): string {
    return networkOf(this.proxies.addressOf(request));
  }

  #conclude(
    guards: AuthParts,
    request: IncomingMessage,
    route: Route | undefined,
    identity: Identity,
  ): AccessDecision {
    if (typeof identity === 'string' || identity instanceof RefusedToken) {
      return { refusal: this.#denied(guards, request, route, identity) };
    }
    if (route === undefined) return { nothingFor: identity };
    if (!isOpenTo(guards.policy, route.served.endpoint, identity)) {
      this.#note('denied', request, route, identity);
      return this.#forbidden(guards, route, identity);
    }
    if (request.method === 'POST') {
      const waitMs = this.takeMessage(identity);
      if (waitMs > 0) return { refusal: this.#tooMany(waitMs) };
      if (this.#parts.watchers.loads?.isFull(quotaKeyOf(identity)) === true)
        return { refusal: this.#tooMany(1_000) };
    }
    this.#parts.metrics.admitted++;
    return { principal: identity };
  }

  #denied(
    guards: AuthParts,
    request: IncomingMessage,
    route: Route | undefined,
    denial: AuthenticationFailure | RefusedToken,
  ): Refusal {
    const refused = denial instanceof RefusedToken ? denial : undefined;
    const outcome = denial instanceof RefusedToken ? 'invalid' : denial;
    this.#note(outcome, request, route, undefined);
    if (outcome === 'unavailable') return REFUSALS.authUnavailable;
    if (refused !== undefined) this.#refusals.note(refused);
    const isWrong = outcome === 'invalid';
    const waitMs = isWrong ? this.#failures.take(this.#networkOf(request), monotonicMs()) : 0;
    if (waitMs > 0) return this.#tooMany(waitMs);
    const path = challengedPath(route);
    const description = refused?.describe(guards.resource.addressOf(path));
    const challenge = guards.resource.challenge(path, {
      ...(isWrong ? { error: 'invalid_token' } : {}),
      description,
      scopes: guards.policy.scopesFor(serversOf(route)),
    });
    return unauthorized(challenge, description);
  }

  // Missing scopes are told, since clients can request them. Everything else is hidden.
  #forbidden({ policy }: AuthParts, route: Route, principal: Principal): AccessDecision {
    const headers = this.stepUp(route, policy.missingScopesFor(principal, serversOf(route)));
    if (headers !== undefined) return { refusal: { ...REFUSALS.forbidden, headers } };
    return policy.hidesDenied ? { nothingFor: principal } : { refusal: REFUSALS.forbidden };
  }

  #audiencesOf(guards: AuthParts, route: Route | undefined): ReadonlySet<string> {
    if (route === undefined) return guards.resource.audiences([]);
    const { served } = route;
    let audiences = this.#audiences.get(served);
    if (audiences === undefined) {
      audiences = guards.resource.audiences(route.paths);
      this.#audiences.set(served, audiences);
    }
    return audiences;
  }

  #tooMany(waitMs: number): Refusal {
    this.#parts.metrics.auth.inc({ outcome: 'throttled' });
    return tooManyRequests(waitMs);
  }

  #note(
    outcome: AuthenticationFailure | 'denied',
    request: IncomingMessage,
    route: Route | undefined,
    who?: Principal,
  ): void {
    this.#parts.metrics.auth.inc({ outcome });
    // Every OAuth login begins with a request without a token.
    if (outcome === 'missing') return;
    this.#parts.watchers.audit?.refused({
      outcome,
      principal: who,
      address: this.proxies.addressOf(request),
      endpoint: route?.served.endpoint.name,
    });
  }
}

function unauthorized(challenge: string, why: string | undefined): Refusal {
  const { message, ...refusal } = REFUSALS.unauthorized;
  const headers = { 'www-authenticate': challenge };
  return { ...refusal, headers, message: why === undefined ? message : `${message} ${why}` };
}

/** The answer to a client that sends too much. */
export function tooManyRequests(waitMs: number): Refusal {
  const seconds = String(Math.max(1, Math.ceil(waitMs / 1_000)));
  return { ...REFUSALS.tooManyRequests, headers: { 'retry-after': seconds } };
}

function isOpenTo(policy: AccessPolicy, endpoint: Endpoint, principal: Principal): boolean {
  // All methods of plain JSON-RPC are passed on, so everything must be allowed.
  const isPlain = endpoint.protocol === 'jsonrpc';
  // A merged endpoint shows of each server what the rules allow.
  return serversAt(endpoint).some((server) =>
    isPlain
      ? policy.allows(principal, { server, kind: 'method', name: '*' })
      : policy.opens(principal, server),
  );
}

/** Without an endpoint the gateway as a whole is meant. */
function serversOf(route: Route | undefined): readonly string[] {
  if (route === undefined) return ['*'];
  return serversAt(route.served.endpoint);
}

function serversAt(endpoint: Endpoint): readonly string[] {
  return endpoint.servers ?? [endpoint.server];
}

/** A POST to the `messages` path of an event stream is about the stream's path. */
function challengedPath(route: Route | undefined): string {
  if (route === undefined) return '';
  if (route.kind === 'messages') return route.path.replace(/\/messages$/, '/sse');
  return route.kind === 'tickets' ? route.path.replace(/\/tickets$/, '/ws') : route.path;
}

function failuresOf({ failedLoginsPerMinute }: LimitOptions): TokenBuckets {
  return new TokenBuckets(failedLoginsPerMinute / 60, failedLoginsPerMinute);
}

function bucketsOf(perSecond: number): TokenBuckets | undefined {
  return perSecond === 0 ? undefined : new TokenBuckets(perSecond, perSecond * 2);
}
