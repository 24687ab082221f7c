// Routes requests at a merged endpoint. Lists are answered here; every other request goes to the server that
// has what it asks for. Both eras are routed in the same way; only their leases differ.
import { whenThere } from '../../base/steps.ts';
import type { Composer } from '../../catalog/composer.ts';
import type { WaitLimits } from '../../catalog/endpoint-options.ts';
import { isListMethod, type ListMethod } from '../../catalog/list-kinds.ts';
import type { Era } from '../../catalog/listing.ts';
import type { Logger } from '../../observe/logger.ts';
import type { Principal } from '../../ports/principal.ts';
import { contain, type Request, settleSoon } from '../../ports/request.ts';
import type { ModernState } from '../../translate/modern-dispatcher.ts';
import { listingOf, type ModernHead, pageOf } from './answers.ts';
import type { Member } from './member.ts';
import {
  type Missed,
  type RouteTarget,
  type RoutingDecision,
  tryInOrder,
} from './routed-request.ts';
import { routeOf } from './routes.ts';
import type { SearchService } from './search-service.ts';
import type { ToolCalls } from './tool-calls.ts';
import type { View } from './view.ts';
import type { Visibility } from './visibility.ts';

/** What all clients of one endpoint share. */
export interface AggregateParts {
  /** Of the endpoint. */
  readonly name: string;
  /** In the order of the configuration. */
  readonly members: readonly Member[];
  readonly composer: Composer;
  readonly waits: WaitLimits;
  readonly visibility: Visibility;
  readonly calls: ToolCalls;
  /** Only with `toolList: search`. */
  readonly search: SearchService | undefined;
  readonly state: ModernState;
  readonly modernHead: ModernHead;
  readonly logger: Logger;
  readonly gatewayVersion: string;
}

/**
 * One client's leases of the servers of an endpoint. A session has all of them; a modern request takes those
 * that it needs.
 */
export interface ClientLeases {
  readonly parts: AggregateParts;
  /** Of the client. */
  readonly era: Era;
  readonly principal: Principal;
  /** The lists that the client sees. */
  readonly view: View;
  /** The request is routed and no longer needs the view. */
  routed(): void;
  /**
   * Sends a request to a server.
   * @param onNotFound called if the server does not have what was asked for; absent if its answer counts in
   *   any case
   */
  send(request: Request, target: RouteTarget, onNotFound?: Missed): void;
}

/** Routes the requests of an endpoint. */
export class AggregateRouter {
  readonly parts: AggregateParts;

  constructor(parts: AggregateParts) {
    this.parts = parts;
  }

  /** Takes a request. It is always settled in the end. */
  dispatch(request: Request, leases: ClientLeases): void {
    const { method } = request.frame;
    if (isListMethod(method)) {
      this.#list(request, method, leases);
      return;
    }
    const decision = routeOf(request, leases);
    if (decision instanceof Promise) {
      contain(
        request,
        decision.then((found) => this.#follow(request, found, leases)),
      );
    } else this.#follow(request, decision, leases);
  }

  #list(request: Request, method: ListMethod, leases: ClientLeases): void {
    const page = whenThere(listingOf(leases.view, method, this.parts), (listing) => {
      leases.routed();
      return pageOf(request.frame, listing, leases);
    });
    settleSoon(request, page);
  }

  /** Carries out a decision, unless the client has cancelled. */
  #follow(request: Request, decision: RoutingDecision, leases: ClientLeases): void {
    leases.routed();
    if (request.isSettled) return;
    switch (decision.kind) {
      case 'settled': {
        const { outcome } = decision;
        request.settle(leases.era === 'modern' ? this.parts.modernHead.own(outcome) : outcome);
        return;
      }
      case 'inOrder':
        tryInOrder(decision.targets, (target, onNotFound) =>
          leases.send(request, target, onNotFound),
        );
        return;
      case 'to':
        this.parts.calls.send(request, decision, leases);
    }
  }
}
