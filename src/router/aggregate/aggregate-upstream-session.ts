// A legacy session's link to several servers as one: what it asks for goes to the server that has
// it, and what belongs to all of them is done at each.
import { asGatewayError, GatewayError } from '../../base/errors.ts';
import { isListMethod, type ListMethod } from '../../catalog/list-kinds.ts';
import type { Listing, OfferedEntry } from '../../catalog/listing.ts';
import { invalidParams, notOffered } from '../../jsonrpc/error.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { parseString } from '../../jsonrpc/parse.ts';
import { levelOf, severityOf } from '../../mcp/log-levels.ts';
import {
  PROGRESS,
  ROOTS_CHANGED,
  SET_LEVEL,
  SUBSCRIBE,
  TASK_STATUS,
  UNSUBSCRIBE,
} from '../../mcp/methods.ts';
import type { EndpointInfo, UpstreamSession } from '../../ports/dispatcher.ts';
import {
  contain,
  type Outcome,
  type Request,
  settleLater,
  settleSoon,
} from '../../ports/request.ts';
import { SessionTasks } from '../../translate/tasks/session-tasks.ts';
import { DirectUpstreamSession } from '../direct-upstream-session.ts';
import type { AggregateParts } from './aggregate-parts.ts';
import { listingOf, mergedInitializeResult, pageOf } from './answers.ts';
import {
  dispatchRoute,
  type RouteTarget,
  type RoutingDecision,
  type Send,
  type SendOptions,
} from './dispatch-route.ts';
import type { Member } from './member.ts';
import type { MemberLease, MemberLeases } from './member-leases.ts';
import { RoutedRequest, uriOf } from './routed-request.ts';
import { routeOf } from './routes.ts';

const EMPTY_RESULT = Buffer.from('{}');
/** What a client may say to any of its servers. */
const SAID_BY_CLIENTS: ReadonlySet<string> = new Set([ROOTS_CHANGED, TASK_STATUS, PROGRESS]);

/** A session's link to the servers of an endpoint. */
export class AggregateUpstreamSession implements UpstreamSession {
  readonly endpointInfo: EndpointInfo;
  readonly #parts: AggregateParts;
  readonly #memberLeases: MemberLeases;
  /** Links to servers whose handshake is done, in the order of the endpoint's servers. */
  readonly #direct: (DirectUpstreamSession | undefined)[] = [];
  constructor(memberLeases: MemberLeases, parts: AggregateParts) {
    this.#parts = parts;
    this.#memberLeases = memberLeases;
    this.endpointInfo = this.#endpointInfo(memberLeases);
  }

  /** One server alone says itself who it is. */
  #endpointInfo({ all: memberLeases, memberInfos }: MemberLeases): EndpointInfo {
    const [member, ...others] = this.#parts.members;
    const [memberLease] = memberLeases;
    const isOne = member !== undefined && memberLease !== undefined && others.length === 0;
    const direct = isOne ? this.#directTo(member, memberLease) : undefined;
    if (direct !== undefined) return direct.endpointInfo;
    return { result: mergedInitializeResult(memberInfos, this.#parts.gatewayVersion) };
  }

  dispatch(request: Request): void {
    const { frame } = request;
    // There may be room by now.
    if (this.#memberLeases.hasGaps) this.#memberLeases.fillGaps();
    if (isListMethod(frame.method)) this.#list(request, frame.method);
    else if (frame.method === SET_LEVEL) this.#setLevel(request);
    else if (this.#isWatched(frame)) settleLater(request, this.#unwatch(frame));
    else this.#route(request);
  }

  notify(notification: Frame): void {
    const { method } = notification;
    for (const { key, index } of this.#parts.members) {
      const memberLease = this.#memberLeases.all[index];
      if (memberLease === undefined) continue;
      const item = { server: key, kind: 'method', name: method } as const;
      const isOpen =
        SAID_BY_CLIENTS.has(method) ||
        this.#parts.visibility.allows(memberLease.client.principal, item);
      if (isOpen) memberLease.lease?.notify(notification);
    }
  }

  close(): void {
    for (const direct of this.#direct) direct?.close();
    this.#memberLeases.leave();
  }

  #list(request: Request, method: ListMethod): void {
    const page = (listing: Listing): Outcome | Promise<Outcome> => {
      const { principal } = request.client;
      return pageOf(request.frame, listing, { parts: this.#parts, principal, era: 'legacy' });
    };
    const listing = listingOf(this.#memberLeases.view, method, this.#parts);
    settleSoon(request, listing instanceof Promise ? listing.then(page) : page(listing));
  }

  /** Every server that logs is told; one that refuses keeps its own level. */
  #setLevel(request: Request): void {
    const { bytes, levelStart, levelEnd } = request.frame;
    const severity = severityOf(parseString(bytes, levelStart, levelEnd));
    const leases = this.#memberLeases.all.flatMap(({ lease }) =>
      lease?.identity?.capabilities['logging'] === undefined ? [] : [lease],
    );
    if (severity === undefined) {
      request.settle(invalidParams('unknown log level.'));
    } else if (leases.length === 0) {
      request.settle(notOffered('logging'));
    } else {
      const level = levelOf(severity);
      this.#memberLeases.level = level;
      // Servers that come later log from this level on too.
      for (const { lease } of this.#memberLeases.all) {
        if (lease !== undefined && lease.identity === undefined) void lease.setLevel(level);
      }
      const told = leases.map((lease) => lease.setLevel(level));
      void Promise.allSettled(told).then(() => request.settle(EMPTY_RESULT));
    }
  }

  #route(request: Request): void {
    const route = routeOf(request, {
      view: this.#memberLeases.view,
      parts: this.#parts,
      era: 'legacy',
      principal: request.client.principal,
    });
    if (route instanceof Promise) {
      contain(
        request,
        route.then((found) => this.#follow(request, found)),
      );
    } else this.#follow(request, route);
  }

  #follow(request: Request, route: RoutingDecision): void {
    const isWatch = request.frame.method === SUBSCRIBE;
    if (isWatch && route.kind === 'to') {
      settleLater(request, this.#watch(request.frame, [route.target]));
    } else if (isWatch && route.kind === 'inOrder') {
      settleLater(request, this.#watch(request.frame, route.targets));
    } else {
      dispatchRoute(request, route, this.#parts.calls, this.#send);
    }
  }

  #isWatched(frame: Frame): boolean {
    return frame.method === UNSUBSCRIBE && this.#memberLeases.watched.has(uriOf(frame));
  }

  async #watch(frame: Frame, targets: readonly RouteTarget[]): Promise<Outcome> {
    const owners = targets.map(({ member, frame }) => ({ key: member.key, uri: uriOf(frame) }));
    return (await this.#memberLeases.watched.watch(uriOf(frame), owners)) ?? EMPTY_RESULT;
  }

  /** A resource is unsubscribed from where it was subscribed to, and nowhere else. */
  async #unwatch(frame: Frame): Promise<Outcome> {
    await this.#memberLeases.watched.unwatch(uriOf(frame));
    return EMPTY_RESULT;
  }

  readonly #send: Send = (request, target, sendOptions) => {
    const { member } = target;
    const { entry, limitMs, onNotFound } = sendOptions;
    const memberLease = this.#memberLeases.all[member.index];
    if (memberLease?.lease === undefined) {
      this.#unreachable(request, member, onNotFound);
      return;
    }
    const { client } = memberLease;
    const options = { expose: client.expose, limitMs, onNotFound };
    this.#dispatch(new RoutedRequest(request, target, options, client), member, memberLease, entry);
  };

  #dispatch(
    routed: RoutedRequest,
    member: Member,
    memberLease: MemberLease,
    entry: OfferedEntry | undefined,
  ): void {
    const direct = this.#directTo(member, memberLease);
    if (direct !== undefined) {
      // The client was told that the results of this tool are wrapped.
      if (entry !== undefined && entry.legacyText !== entry.modernText) {
        direct.noteWrapped(entry.upstream);
      }
      direct.dispatch(routed);
      return;
    }
    // The era of a server that never was up is not known yet.
    memberLease.lease?.ready().then(
      () => this.#sendWhenReady(routed, member, memberLease, entry),
      (error: unknown) => routed.settle(asGatewayError(error, member.key)),
    );
  }

  #sendWhenReady(
    routed: RoutedRequest,
    member: Member,
    memberLease: MemberLease,
    entry: OfferedEntry | undefined,
  ): void {
    if (routed.isSettled) return;
    if (memberLease.lease?.identity !== undefined)
      this.#dispatch(routed, member, memberLease, entry);
    else routed.settle(unavailable(member.key, 'it gave no handshake'));
  }

  #directTo(member: Member, { lease, client }: MemberLease): DirectUpstreamSession | undefined {
    const { index, key, backend } = member;
    const known = this.#direct[index];
    if (known !== undefined || lease?.identity === undefined) return known;
    const tasks = new SessionTasks(client, lease, backend, this.#parts.state.tasks);
    const direct = new DirectUpstreamSession(lease, key, tasks);
    this.#direct[index] = direct;
    return direct;
  }

  #unreachable(request: Request, member: Member, onNotFound: SendOptions['onNotFound']): void {
    const { key } = member;
    const refusal = this.#memberLeases.refusalOf(this.#parts.members.indexOf(member));
    const deliver = (): void =>
      request.settle(refusal ?? unavailable(key, 'there is no place for this client'));
    if (onNotFound === undefined) deliver();
    else onNotFound(deliver);
  }
}

function unavailable(server: string, why: string): GatewayError {
  return new GatewayError('server_unavailable', `Server "${server}" is not available: ${why}.`, {
    outcome: 'not_sent',
    server,
  });
}
