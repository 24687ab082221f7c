// Modern requests to an endpoint with several servers: lists and discovery are answered here, each
// other one goes to the server that has what it asks for, through that server's own gate.
import { within } from '../../base/clock.ts';
import { asGatewayError } from '../../base/errors.ts';
import { isListMethod, type ListMethod } from '../../catalog/list-kinds.ts';
import type { Listing } from '../../catalog/listing.ts';
import type { ExposeUri } from '../../catalog/resource-texts.ts';
import { INVALID_PARAMS, methodNotFound, type WireError } from '../../jsonrpc/error.ts';
import { RESOURCE_NOT_FOUND } from '../../mcp/errors.ts';
import { DISCOVER, isNoModernRequest, LISTEN } from '../../mcp/modern-methods.ts';
import type { Downstream } from '../../ports/downstream.ts';
import type { Lease, ListKind } from '../../ports/lease.ts';
import type { Principal } from '../../ports/principal.ts';
import {
  contain,
  type Outcome,
  type Request,
  settleLater,
  settleSoon,
} from '../../ports/request.ts';
import { modernCapabilities } from '../../translate/discovery.ts';
import { ModernListen } from '../../translate/modern-listen.ts';
import type { AggregateParts } from './aggregate-parts.ts';
import { listingOf, ModernHead, mergedDiscovery, pageOf } from './answers.ts';
import { dispatchRoute, type RoutingDecision, type Send } from './dispatch-route.ts';
import { MemberLeases } from './member-leases.ts';
import { MergedListenTarget } from './merged-listen-target.ts';
import { RequestLeases } from './request-leases.ts';
import { RoutedRequest } from './routed-request.ts';
import { routeOf } from './routes.ts';
import { View, type ViewParts } from './view.ts';

/** Modern requests of one endpoint. */
export class ModernService {
  readonly #parts: AggregateParts;
  readonly #head: ModernHead;
  readonly #keys: readonly string[];
  /** What clients without instances of their own see: all of them the same. */
  readonly #common: View;
  /** Clients with an open listen stream. */
  readonly #listening = new Set<MemberLeases>();

  constructor(parts: AggregateParts) {
    this.#parts = parts;
    this.#head = new ModernHead(parts.gatewayVersion);
    this.#keys = parts.members.map(({ key }) => key);
    const shared = (index: number): Lease | undefined => this.#sharedLease(index);
    const requestLeases = { lease: shared, peek: shared, refusal: () => undefined };
    this.#common = this.#viewOf(requestLeases, (kind) => this.#tellChanged(kind));
  }

  /** Serves a request; it is settled in the end. */
  serve(request: Request): void {
    const { method } = request.frame;
    if (method === LISTEN) void this.#listen(request);
    else if (method === DISCOVER) this.#discover(request);
    else if (isListMethod(method)) this.#list(request, method);
    else if (isNoModernRequest(method)) request.settle(methodNotFound(method));
    else this.#route(request);
  }

  #list(request: Request, method: ListMethod): void {
    this.#withView(request, (view, done) => {
      const dressed = (found: Buffer | WireError): Outcome =>
        Buffer.isBuffer(found) ? this.#head.page(found) : found;
      const page = (listing: Listing): Outcome | Promise<Outcome> => {
        done();
        const { principal } = request.client;
        const reader = { parts: this.#parts, principal, era: 'modern' } as const;
        const found = pageOf(request.frame, listing, reader);
        return found instanceof Promise ? found.then(dressed) : dressed(found);
      };
      const listing = listingOf(view, method, this.#parts);
      settleSoon(request, listing instanceof Promise ? listing.then(page) : page(listing));
    });
  }

  #route(request: Request): void {
    this.#withView(request, (view, done) => {
      const go = (route: RoutingDecision): void => {
        done();
        const isSettled = route.kind === 'settled';
        const own = isSettled ? { ...route, outcome: this.#modern(route.outcome) } : route;
        dispatchRoute(request, own, this.#parts.calls, this.#sendWith(view));
      };
      const route = routeOf(request, {
        view,
        parts: this.#parts,
        era: 'modern',
        principal: request.client.principal,
      });
      if (route instanceof Promise) contain(request, route.then(go));
      else go(route);
    });
  }

  /** Sends requests on as the client sees the servers. */
  #sendWith(view: View): Send {
    return (request, target, { limitMs, onNotFound }) => {
      const { key, dispatcher } = target.member;
      const expose: ExposeUri = (uri, matchBudget) =>
        view.knownTable.exposed(key, uri, matchBudget);
      dispatcher.serve(new RoutedRequest(request, target, { expose, limitMs, onNotFound }));
    };
  }

  /** What the gateway says itself, for a modern client. */
  #modern(outcome: Outcome): Outcome {
    if (Buffer.isBuffer(outcome)) return this.#head.result(outcome);
    const isNotFound = 'code' in outcome && outcome.code === RESOURCE_NOT_FOUND;
    return isNotFound ? { ...outcome, code: INVALID_PARAMS } : outcome;
  }

  #discover(request: Request): void {
    const [only] = this.#parts.members;
    if (only !== undefined && this.#parts.members.length === 1) {
      only.dispatcher.serve(request);
      return;
    }
    this.#withView(request, (_view, done, lease) => {
      const leases = this.#keys.map((_, index) => lease(index));
      // One that failed is not waited for: there may be nothing to wait for.
      const ready = leases.map((one, index) => {
        if (one === undefined || one.isDown) return undefined;
        const ready = one.ready().catch(() => undefined);
        if (one.unavailableReason === undefined) return ready;
        return within(this.#parts.members[index]?.patience.toConnect() ?? 0, ready);
      });
      const discovered = Promise.all(ready).then(() => {
        const { principal } = request.client;
        const opened = this.#keys.map((key) => this.#parts.visibility.opens(principal, key));
        const known = leases
          .map((one, index) => ({
            key: this.#keys[index] ?? '',
            capabilities: one?.identity && modernCapabilities(one.identity),
            instructions: one?.identity?.handshakeResult['instructions'],
            namePrefix: this.#parts.composer.prefixOf(this.#keys[index] ?? ''),
          }))
          .filter((_, index) => opened[index]);
        done();
        return mergedDiscovery(known, this.#parts.gatewayVersion);
      });
      settleLater(request, discovered);
    });
  }

  async #listen(request: Request): Promise<void> {
    const listen = new ModernListen(request, this.#parts.state.listens);
    try {
      await listen.start((client: Downstream) => {
        const memberLeases = new MemberLeases(client, this.#parts, (index) =>
          this.#common.isUp(index),
        );
        this.#listening.add(memberLeases);
        return new MergedListenTarget(client, memberLeases, this.#parts, () =>
          this.#listening.delete(memberLeases),
        );
      });
    } catch (error) {
      listen.cancel();
      request.settle(asGatewayError(error));
    }
  }

  /**
   * Lets `use` look at the servers as the client sees them.
   * @param use calls `done` when it needs the leases no longer
   */
  #withView(
    request: Request,
    use: (view: View, done: () => void, lease: (index: number) => Lease | undefined) => void,
  ): void {
    const { client } = request;
    const { members, visibility } = this.#parts;
    const hasOwn = members.some(
      ({ isShared, key }) => !isShared && visibility.opens(client.principal, key),
    );
    if (!hasOwn) {
      use(
        this.#common,
        () => undefined,
        (index) => this.#sharedLease(index),
      );
      return;
    }
    const requestLeases = new RequestLeases(client, this.#parts);
    const view = this.#viewOf(requestLeases, (kind) => this.#tellChanged(kind, client.principal));
    use(
      view,
      () => requestLeases.leave(),
      (index) => requestLeases.lease(index),
    );
  }

  #viewOf(
    requestLeases: Pick<ViewParts, 'lease' | 'peek' | 'refusal'>,
    completed: ViewParts['completed'],
  ): View {
    const { members, composer } = this.#parts;
    return new View({
      members,
      composer,
      lease: (index) => requestLeases.lease(index),
      peek: (index) => requestLeases.peek(index),
      refusal: (index) => requestLeases.refusal(index),
      completed,
    });
  }

  /** Requests stand alone: who listens is told what any of them was not given. */
  #tellChanged(kind: ListKind, to?: Principal): void {
    for (const memberLeases of this.#listening) {
      // What is of a private server is its principal's alone.
      if (to === undefined || memberLeases.principal.key === to.key) memberLeases.tellChanged(kind);
    }
  }

  #sharedLease(index: number): Lease | undefined {
    const member = this.#parts.members[index];
    return member?.isShared === true ? member.readingLease : undefined;
  }
}
