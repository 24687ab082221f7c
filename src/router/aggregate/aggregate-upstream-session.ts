// A legacy session at a merged endpoint. A request goes to the server that has what it asks for; what
// concerns all servers is done at each of them.

import { asGatewayError } from '../../base/errors.ts';
import { whenThere } from '../../base/steps.ts';
import { notOffered } from '../../jsonrpc/error.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { EMPTY_OBJECT } from '../../jsonrpc/json-text.ts';
import { ERRORS } from '../../mcp/errors.ts';
import { FAILURES } from '../../mcp/failures.ts';
import {
  PROGRESS,
  ROOTS_CHANGED,
  SET_LEVEL,
  SUBSCRIBE,
  TASK_STATUS,
  UNSUBSCRIBE,
} from '../../mcp/methods.ts';
import type { EndpointInfo } from '../../ports/dispatcher.ts';
import type { Principal } from '../../ports/principal.ts';
import { type Outcome, type Request, settleLater, settleSoon } from '../../ports/request.ts';
import { SessionTasks } from '../../translate/tasks/session-tasks.ts';
import { sessionCapabilities } from '../../translate/tasks/task-support.ts';
import type { CarriedSession, CarryingSession } from '../carried-session.ts';
import { DirectUpstreamSession, levelIn } from '../direct-endpoint.ts';
import type { AggregateParts, AggregateRouter, ClientLeases } from './aggregate-router.ts';
import { memberInfosOf, mergedInitializeResult } from './answers.ts';
import type { Member } from './member.ts';
import type { MemberLease, MemberLeases } from './member-leases.ts';
import { type Missed, RoutedRequest, type RouteTarget, uriOf } from './routed-request.ts';
import { routeOf } from './routes.ts';
import type { View } from './view.ts';

/** Notifications that a client may send to any of its servers. */
const SAID_BY_CLIENTS: ReadonlySet<string> = new Set([ROOTS_CHANGED, TASK_STATUS, PROGRESS]);

/** A session's leases of all servers of an endpoint. */
export class AggregateUpstreamSession implements CarryingSession, ClientLeases {
  readonly endpointInfo: EndpointInfo;
  readonly era = 'legacy';
  readonly parts: AggregateParts;
  readonly view: View;
  readonly #router: AggregateRouter;
  readonly #memberLeases: MemberLeases;
  /** For servers whose handshake is done, by the index of the server. */
  readonly #direct: (DirectUpstreamSession | undefined)[] = [];

  constructor(memberLeases: MemberLeases, router: AggregateRouter) {
    this.parts = router.parts;
    this.view = memberLeases.view;
    this.#router = router;
    this.#memberLeases = memberLeases;
    this.endpointInfo = this.#endpointInfo();
  }

  get principal(): Principal {
    return this.#memberLeases.principal;
  }

  get carried(): CarriedSession {
    const { level, watched } = this.#memberLeases;
    const leaseAt: CarriedSession['leaseAt'] = (server) => {
      const member = this.parts.members.find(({ key }) => key === server);
      const lease = member && this.#memberLeases.all[member.index]?.lease;
      return lease && { backend: member.backend, lease };
    };
    return { level, watched: watched.all, leaseAt };
  }

  /** A single server describes itself. */
  #endpointInfo(): EndpointInfo {
    const { members, gatewayVersion } = this.parts;
    const [member, ...others] = members;
    const [memberLease] = this.#memberLeases.all;
    const isOne = member !== undefined && memberLease !== undefined && others.length === 0;
    const direct = isOne ? this.#directTo(member, memberLease) : undefined;
    if (direct !== undefined) return direct.endpointInfo;
    const { version } = this.#memberLeases.client;
    const infos = memberInfosOf(this.#memberLeases, (identity) =>
      identity.era === 'legacy' ? sessionCapabilities(identity, version) : identity.capabilities,
    );
    return { result: mergedInitializeResult(infos, gatewayVersion) };
  }

  dispatch(request: Request): void {
    const { frame } = request;
    // A server without a lease may have room now.
    if (this.#memberLeases.hasGaps) this.#memberLeases.fillGaps();
    if (frame.method === SET_LEVEL) this.#setLevel(request);
    else if (frame.method === SUBSCRIBE) this.#watch(request);
    else if (this.#isWatched(frame)) settleLater(request, this.#unwatch(frame));
    else this.#router.dispatch(request, this);
  }

  notify(notification: Frame): void {
    const { method } = notification;
    for (const { key, index } of this.parts.members) {
      const memberLease = this.#memberLeases.all[index];
      if (memberLease === undefined) continue;
      const item = { server: key, kind: 'method', name: method } as const;
      const isOpen =
        SAID_BY_CLIENTS.has(method) || this.parts.visibility.allows(this.principal, item);
      if (isOpen) memberLease.lease?.notify(notification);
    }
  }

  close(): void {
    for (const direct of this.#direct) direct?.close();
    this.#memberLeases.leave();
  }

  /** Sets the level at every server that logs. A server that refuses keeps its level. */
  #setLevel(request: Request): void {
    const level = levelIn(request.frame);
    const leases = this.#memberLeases.all.flatMap(({ lease }) =>
      lease?.identity?.capabilities['logging'] === undefined ? [] : [lease],
    );
    if (level === undefined) {
      request.settle(ERRORS.badLogLevel);
    } else if (leases.length === 0) {
      request.settle(notOffered('logging'));
    } else {
      this.#memberLeases.level = level;
      // Servers that start later use this level too.
      for (const { lease } of this.#memberLeases.all) {
        if (lease !== undefined && lease.identity === undefined) void lease.setLevel(level);
      }
      const told = leases.map((lease) => lease.setLevel(level));
      void Promise.allSettled(told).then(() => request.settle(EMPTY_OBJECT));
    }
  }

  #isWatched(frame: Frame): boolean {
    return frame.method === UNSUBSCRIBE && this.#memberLeases.watched.has(uriOf(frame));
  }

  #watch(request: Request): void {
    const { frame } = request;
    const outcome = whenThere(routeOf(request, this), (decision): Outcome | Promise<Outcome> => {
      if (decision.kind === 'settled') return decision.outcome;
      const targets = decision.kind === 'to' ? [decision] : decision.targets;
      const owners = targets.map(({ member, frame }) => ({ key: member.key, uri: uriOf(frame) }));
      const watching = this.#memberLeases.watched.watch(uriOf(frame), owners);
      return watching.then((error) => error ?? EMPTY_OBJECT);
    });
    settleSoon(request, outcome);
  }

  /** Unsubscribes a resource only where it was subscribed. */
  async #unwatch(frame: Frame): Promise<Outcome> {
    await this.#memberLeases.watched.unwatch(uriOf(frame));
    return EMPTY_OBJECT;
  }

  routed(): void {
    // A session needs its leases as long as it lasts.
  }

  send(request: Request, target: RouteTarget, onNotFound?: Missed): void {
    const { member } = target;
    const memberLease = this.#memberLeases.all[member.index];
    if (memberLease?.lease === undefined) {
      this.#unreachable(request, member, onNotFound);
      return;
    }
    const { client, lease } = memberLease;
    const options = { expose: client.expose, onNotFound };
    const routed = new RoutedRequest(request, target, options, client);
    const direct = this.#directTo(member, memberLease);
    if (direct !== undefined) dispatchTo(direct, routed, target);
    // The era of a server that has never been ready is not known yet.
    else {
      lease.ready().then(
        () => this.#sendWhenReady(routed, target, memberLease),
        (error: unknown) => routed.settle(asGatewayError(error, member.key)),
      );
    }
  }

  #sendWhenReady(routed: RoutedRequest, target: RouteTarget, memberLease: MemberLease): void {
    if (routed.isSettled) return;
    const direct = this.#directTo(target.member, memberLease);
    if (direct !== undefined) dispatchTo(direct, routed, target);
    else
      routed.settle(
        FAILURES.unavailable(target.member.key, 'is not available: it gave no handshake.'),
      );
  }

  #directTo(member: Member, { lease, client }: MemberLease): DirectUpstreamSession | undefined {
    const { index, backend } = member;
    const known = this.#direct[index];
    if (known !== undefined || lease?.identity === undefined) return known;
    const tasks = new SessionTasks(client, lease, backend, this.parts.state.tasks);
    const direct = new DirectUpstreamSession(lease, backend, tasks);
    this.#direct[index] = direct;
    return direct;
  }

  #unreachable(request: Request, { index, key }: Member, onNotFound: Missed | undefined): void {
    const refusal = this.#memberLeases.refusal(index);
    const deliver = (): void =>
      request.settle(
        refusal ??
          FAILURES.unavailable(key, 'is not available: there is no place for this client.'),
      );
    if (onNotFound === undefined) deliver();
    else onNotFound(deliver);
  }
}

function dispatchTo(
  direct: DirectUpstreamSession,
  routed: RoutedRequest,
  { entry }: RouteTarget,
): void {
  // In the list, the client saw that the results of this tool are wrapped.
  if (entry !== undefined && entry.legacyText !== entry.modernText) {
    direct.noteWrapped(entry.upstream);
  }
  direct.dispatch(routed);
}
