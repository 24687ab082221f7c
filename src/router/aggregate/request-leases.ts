// The leases of one modern request at a merged endpoint. A lease of a private server is taken only if it is
// needed. All are given up when the request is routed.
import { GatewayError } from '../../base/errors.ts';
import type { Downstream } from '../../ports/downstream.ts';
import type { Lease, ListKind } from '../../ports/lease.ts';
import type { Principal } from '../../ports/principal.ts';
import type { Request } from '../../ports/request.ts';
import type { AggregateParts, ClientLeases } from './aggregate-router.ts';
import { type Missed, RoutedRequest, type RouteTarget } from './routed-request.ts';
import { View, type ViewLeases } from './view.ts';

/** The lists for clients without private instances; also told about changes. */
export interface CommonLeases extends ViewLeases {
  readonly view: View;
  completed(kind: ListKind, to?: Principal): void;
}

/** The leases of a request's client. */
export class RequestLeases implements ClientLeases, ViewLeases {
  readonly era = 'modern';
  readonly principal: Principal;
  readonly parts: AggregateParts;
  readonly view: View;
  readonly #client: Downstream;
  readonly #common: CommonLeases;
  /** By the index of the server; undefined if the endpoint has no private servers. */
  readonly #own: Map<number, Lease | undefined> | undefined;
  readonly #refusals = new Map<number, GatewayError>();
  #isOver = false;

  /** @param hasOwn whether the endpoint may have private instances for this client */
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

  /**
   * The lease of a server, taken if needed. Undefined if the server has no room, or the client may not use
   * it.
   */
  lease(index: number): Lease | undefined {
    return this.#at(index, true);
  }

  /** Like `lease`, but never starts an instance. */
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
