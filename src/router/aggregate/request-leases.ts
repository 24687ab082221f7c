// The leases of one modern request at the servers of an endpoint: one at a private server is taken only
// where the request looks, and all are given up when it is known where the request goes.
import { GatewayError } from '../../base/errors.ts';
import type { Downstream } from '../../ports/downstream.ts';
import type { Lease, ListKind } from '../../ports/lease.ts';
import type { Principal } from '../../ports/principal.ts';
import type { Request } from '../../ports/request.ts';
import type { AggregateParts, ClientLeases } from './aggregate-router.ts';
import { type Missed, RoutedRequest, type RouteTarget } from './routed-request.ts';
import { View, type ViewLeases } from './view.ts';

/** What clients see that have no instances of their own, and who is told of changes. */
export interface CommonLeases extends ViewLeases {
  readonly view: View;
  completed(kind: ListKind, to?: Principal): void;
}

/** Leases of a request's client. */
export class RequestLeases implements ClientLeases, ViewLeases {
  readonly era = 'modern';
  readonly principal: Principal;
  readonly parts: AggregateParts;
  readonly view: View;
  readonly #client: Downstream;
  readonly #common: CommonLeases;
  /** By the server's position; undefined: there is none yet. */
  readonly #own: Map<number, Lease | undefined> | undefined;
  readonly #refusals = new Map<number, GatewayError>();
  #isOver = false;

  /** @param hasOwn whether instances of the client's own may be behind the endpoint */
  constructor(client: Downstream, parts: AggregateParts, common: CommonLeases, hasOwn: boolean) {
    this.principal = client.principal;
    this.#client = client;
    this.parts = parts;
    this.#common = common;
    this.#own = hasOwn ? new Map() : undefined;
    this.view = hasOwn ? new View(parts, this) : common.view;
  }

  opens(index: number): boolean {
    const { members, visibility } = this.parts;
    return visibility.opens(this.principal, members[index]?.key ?? '');
  }

  /** The lease at a server, taken if need be; a server without room, or closed to it, has none. */
  lease(index: number): Lease | undefined {
    return this.#at(index, true);
  }

  /** The same, but no instance is made for it. */
  peek(index: number): Lease | undefined {
    return this.#own?.has(index) === true ? this.#own.get(index) : this.#at(index, false);
  }

  refusal(index: number): GatewayError | undefined {
    return this.#refusals.get(index);
  }

  completed(kind: ListKind): void {
    this.#common.completed(kind, this.principal);
  }

  send(request: Request, target: RouteTarget, onNotFound?: Missed): void {
    const { index, dispatcher } = target.member;
    const options = { expose: this.view.exposeOf(index), onNotFound };
    dispatcher.serve(new RoutedRequest(request, target, options));
  }

  routed(): void {
    this.#isOver = true;
    for (const lease of this.#own?.values() ?? []) lease?.leave();
  }

  #at(index: number, mayStart: boolean): Lease | undefined {
    const member = this.parts.members[index];
    if (member === undefined) return undefined;
    if (this.#own === undefined || member.isShared) return this.#common.lease(index);
    const known = this.#own.get(index);
    if (known !== undefined || this.#isOver || !this.opens(index)) return known;
    const { backend } = member;
    try {
      const lease = mayStart
        ? backend.acquire(this.#client)
        : backend.acquireExisting(this.#client);
      this.#own.set(index, lease);
      return lease;
    } catch (error) {
      if (error instanceof GatewayError) this.#refusals.set(index, error);
      return undefined;
    }
  }
}
