// A legacy session's link to several servers as one: what it asks for goes to the server that has
// it, and what belongs to all of them is done at each.
import { asGatewayError, GatewayError } from '../../base/errors.ts';
import { SessionTasks } from '../../bridge/tasks/session-tasks.ts';
import { isListMethod, type ListMethod } from '../../catalog/list-kinds.ts';
import type { Listing, OfferedEntry } from '../../catalog/listing.ts';
import { INVALID_PARAMS, METHOD_NOT_FOUND } from '../../jsonrpc/error.ts';
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
import type { Attachment, Welcome } from '../../ports/dispatcher.ts';
import { contain, type Outcome, type Request, settleLater } from '../../ports/request.ts';
import { DirectAttachment } from '../direct-attachment.ts';
import type { AggregateParts } from './aggregate-parts.ts';
import { listingOf, mergedHello, pageOf } from './answers.ts';
import type { ClientLinks, Link } from './client-links.ts';
import { type Candidate, follow, type Route, type Send, type Sending } from './follow.ts';
import type { Member } from './member.ts';
import { RoutedRequest, uriOf } from './routed-request.ts';
import { routeOf } from './routes.ts';

const EMPTY_RESULT = Buffer.from('{}');
/** What a client may say to any of its servers. */
const SAID_BY_CLIENTS: ReadonlySet<string> = new Set([ROOTS_CHANGED, TASK_STATUS, PROGRESS]);

/** A session's link to the servers of an endpoint. */
export class AggregateAttachment implements Attachment {
  readonly welcome: Welcome;
  readonly #parts: AggregateParts;
  readonly #links: ClientLinks;
  /** Links to servers whose handshake is done, in the order of the endpoint's servers. */
  readonly #direct: (DirectAttachment | undefined)[] = [];
  constructor(links: ClientLinks, parts: AggregateParts) {
    this.#parts = parts;
    this.#links = links;
    this.welcome = this.#welcome(links);
  }

  /** One server alone says itself who it is. */
  #welcome({ links, welcomeParts }: ClientLinks): Welcome {
    const [member, ...others] = this.#parts.members;
    const [link] = links;
    const isOne = member !== undefined && link !== undefined && others.length === 0;
    const direct = isOne ? this.#directTo(member, link) : undefined;
    if (direct !== undefined) return direct.welcome;
    return { result: mergedHello(welcomeParts, this.#parts.gatewayVersion) };
  }

  dispatch(request: Request): void {
    const { frame } = request;
    // There may be room by now.
    if (this.#links.hasGaps) this.#links.fillGaps();
    if (isListMethod(frame.method)) this.#list(request, frame.method);
    else if (frame.method === SET_LEVEL) this.#setLevel(request);
    else if (this.#isWatched(frame)) settleLater(request, this.#unwatch(frame));
    else this.#route(request);
  }

  notify(notification: Frame): void {
    const { method } = notification;
    for (const { key, index } of this.#parts.members) {
      const link = this.#links.links[index];
      if (link === undefined) continue;
      const item = { server: key, kind: 'method', name: method } as const;
      const isOpen =
        SAID_BY_CLIENTS.has(method) || this.#parts.visibility.allows(link.client.principal, item);
      if (isOpen) link.seat?.notify(notification);
    }
  }

  detach(): void {
    for (const direct of this.#direct) direct?.detach();
    this.#links.leave();
  }

  #list(request: Request, method: ListMethod): void {
    const page = (listing: Listing): Outcome => {
      const { principal } = request.client;
      return pageOf(request.frame, listing, { parts: this.#parts, principal, era: 'legacy' });
    };
    const listing = listingOf(this.#links.view, method, this.#parts);
    if (listing instanceof Promise) settleLater(request, listing.then(page));
    else request.settle(page(listing));
  }

  /** Every server that logs is told; one that refuses keeps its own level. */
  #setLevel(request: Request): void {
    const { bytes, levelStart, levelEnd } = request.frame;
    const severity = severityOf(parseString(bytes, levelStart, levelEnd));
    const seats = this.#links.links.flatMap(({ seat }) =>
      seat?.identity?.capabilities['logging'] === undefined ? [] : [seat],
    );
    if (severity === undefined) {
      request.settle({ code: INVALID_PARAMS, message: 'Invalid params: unknown log level.' });
    } else if (seats.length === 0) {
      request.settle({
        code: METHOD_NOT_FOUND,
        message: 'Method not found: logging not offered.',
      });
    } else {
      const level = levelOf(severity);
      this.#links.level = level;
      // Servers that come later log from this level on too.
      for (const { seat } of this.#links.links) {
        if (seat !== undefined && seat.identity === undefined) void seat.setLevel(level);
      }
      const told = seats.map((seat) => seat.setLevel(level));
      void Promise.allSettled(told).then(() => request.settle(EMPTY_RESULT));
    }
  }

  #route(request: Request): void {
    const route = routeOf(request, {
      view: this.#links.view,
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

  #follow(request: Request, route: Route): void {
    const isWatch = request.frame.method === SUBSCRIBE;
    if (isWatch && route.kind === 'to') {
      settleLater(request, this.#watch(request.frame, [route.candidate]));
    } else if (isWatch && route.kind === 'inTurn') {
      settleLater(request, this.#watch(request.frame, route.candidates));
    } else {
      follow(request, route, this.#parts.calls, this.#send);
    }
  }

  #isWatched(frame: Frame): boolean {
    return frame.method === UNSUBSCRIBE && this.#links.watched.has(uriOf(frame));
  }

  async #watch(frame: Frame, candidates: readonly Candidate[]): Promise<Outcome> {
    const owners = candidates.map(({ member, frame }) => ({ key: member.key, uri: uriOf(frame) }));
    return (await this.#links.watched.watch(uriOf(frame), owners)) ?? EMPTY_RESULT;
  }

  /** A resource is unsubscribed from where it was subscribed to, and nowhere else. */
  async #unwatch(frame: Frame): Promise<Outcome> {
    await this.#links.watched.unwatch(uriOf(frame));
    return EMPTY_RESULT;
  }

  readonly #send: Send = (request, candidate, sending) => {
    const { member } = candidate;
    const { entry, limitMs, missed } = sending;
    const link = this.#links.links[member.index];
    if (link?.seat === undefined) {
      this.#unreachable(request, member, missed);
      return;
    }
    const { client } = link;
    const options = { expose: client.expose, limitMs, missed };
    this.#dispatch(new RoutedRequest(request, candidate, options, client), member, link, entry);
  };

  #dispatch(
    routed: RoutedRequest,
    member: Member,
    link: Link,
    entry: OfferedEntry | undefined,
  ): void {
    const direct = this.#directTo(member, link);
    if (direct !== undefined) {
      // The client was told that the results of this tool are wrapped.
      if (entry !== undefined && entry.legacyText !== entry.modernText) {
        direct.noteWrapped(entry.upstream);
      }
      direct.dispatch(routed);
      return;
    }
    // The era of a server that never was up is not known yet.
    link.seat?.ready().then(
      () => this.#sendWhenReady(routed, member, link, entry),
      (error: unknown) => routed.settle(asGatewayError(error, member.key)),
    );
  }

  #sendWhenReady(
    routed: RoutedRequest,
    member: Member,
    link: Link,
    entry: OfferedEntry | undefined,
  ): void {
    if (routed.isSettled) return;
    if (link.seat?.identity !== undefined) this.#dispatch(routed, member, link, entry);
    else routed.settle(unavailable(member.key, 'it gave no handshake'));
  }

  #directTo(member: Member, { seat, client }: Link): DirectAttachment | undefined {
    const { index, key, backend } = member;
    const known = this.#direct[index];
    if (known !== undefined || seat?.identity === undefined) return known;
    const tasks = new SessionTasks(client, seat, backend, this.#parts.state.tasks);
    const direct = new DirectAttachment(seat, key, tasks);
    this.#direct[index] = direct;
    return direct;
  }

  #unreachable(request: Request, member: Member, missed: Sending['missed']): void {
    const { key } = member;
    const refusal = this.#links.refusalOf(this.#parts.members.indexOf(member));
    const deliver = (): void =>
      request.settle(refusal ?? unavailable(key, 'there is no place for this client'));
    if (missed === undefined) deliver();
    else missed(deliver);
  }
}

function unavailable(server: string, why: string): GatewayError {
  return new GatewayError('server_unavailable', `Server "${server}" is not available: ${why}.`, {
    outcome: 'not_sent',
    server,
  });
}
