// Modern requests to a merged endpoint. Each is independent: it has its own leases of private servers, and
// shares leases of shared servers.
import { within } from '../../base/clock.ts';
import { asGatewayError, type GatewayError } from '../../base/errors.ts';
import { methodNotFound } from '../../jsonrpc/error.ts';
import { DISCOVER, isNoModernRequest, LISTEN } from '../../mcp/modern-methods.ts';
import type { Downstream } from '../../ports/downstream.ts';
import type { Lease, ListKind } from '../../ports/lease.ts';
import type { Principal } from '../../ports/principal.ts';
import { type Request, settleLater } from '../../ports/request.ts';
import { modernCapabilities } from '../../translate/discovery.ts';
import { ModernListen } from '../../translate/modern-listen.ts';
import type { AggregateParts, AggregateRouter } from './aggregate-router.ts';
import { memberInfosOf, mergedDiscovery } from './answers.ts';
import type { Member } from './member.ts';
import { MemberLeases } from './member-leases.ts';
import { MergedListenTarget } from './merged-listen-target.ts';
import { type CommonLeases, RequestLeases } from './request-leases.ts';
import { View } from './view.ts';

/** The modern requests of one endpoint. */
export class ModernService implements CommonLeases {
  /** The lists for all clients without private instances. */
  readonly view: View;
  readonly #router: AggregateRouter;
  readonly #parts: AggregateParts;
  readonly #private: readonly Member[];
  /** Clients with an open listen stream. */
  readonly #listening = new Set<MemberLeases>();

  constructor(router: AggregateRouter) {
    this.#router = router;
    this.#parts = router.parts;
    this.#private = router.parts.members.filter(({ isShared }) => !isShared);
    this.view = new View(router.parts, this);
  }

  /** Serves a request. It is always settled in the end. */
  serve(request: Request): void {
    const { method } = request.frame;
    if (method === LISTEN) void this.#listen(request);
    else if (method === DISCOVER) this.#discover(request);
    else if (isNoModernRequest(method)) request.settle(methodNotFound(method));
    else this.#router.dispatch(request, this.#leasesOf(request.client));
  }

  #leasesOf(client: Downstream): RequestLeases {
    const { visibility } = this.#parts;
    const hasOwn = this.#private.some(({ key }) => visibility.opens(client.principal, key));
    return new RequestLeases(client, this.#parts, this, hasOwn);
  }

  #discover(request: Request): void {
    const [only] = this.#parts.members;
    if (only !== undefined && this.#parts.members.length === 1) only.dispatcher.serve(request);
    else settleLater(request, this.#discovery(this.#leasesOf(request.client)));
  }

  async #discovery(leases: RequestLeases): Promise<Buffer> {
    const { members, gatewayVersion } = this.#parts;
    // Failed servers are not waited for: they may never be ready.
    const ready = members.map(({ index, patience }) => {
      const lease = leases.lease(index);
      if (lease === undefined || lease.isDown) return undefined;
      const ready = lease.ready().catch(() => undefined);
      if (lease.unavailableReason === undefined) return ready;
      return within(patience.toConnect(), ready);
    });
    await Promise.all(ready);
    const known = memberInfosOf(leases, modernCapabilities);
    leases.routed();
    return mergedDiscovery(known, gatewayVersion);
  }

  async #listen(request: Request): Promise<void> {
    const listen = new ModernListen(request, this.#parts.name, this.#parts.state.listens);
    try {
      await listen.start((client: Downstream) => {
        const memberLeases = new MemberLeases(client, this.#parts, (index) =>
          this.view.isUp(index),
        );
        this.#listening.add(memberLeases);
        return new MergedListenTarget(memberLeases, () => this.#listening.delete(memberLeases));
      });
    } catch (error) {
      listen.cancel();
      request.settle(asGatewayError(error));
    }
  }

  /**
   * Requests are independent, so a listening client is told about lists that were incomplete for any request.
   */
  completed(kind: ListKind, to?: Principal): void {
    for (const memberLeases of this.#listening) {
      // A private server concerns only its principal.
      if (to === undefined || memberLeases.principal.key === to.key) memberLeases.completed(kind);
    }
  }

  /** The lease of a shared server, for all its clients. */
  lease(index: number): Lease | undefined {
    const member = this.#parts.members[index];
    return member?.isShared === true ? member.readingLease : undefined;
  }

  peek(index: number): Lease | undefined {
    return this.lease(index);
  }

  refusal(): GatewayError | undefined {
    return undefined;
  }
}
