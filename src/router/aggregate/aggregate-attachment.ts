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
import { contain } from '../../ports/contain.ts';
import type { Attachment, Welcome } from '../../ports/dispatcher.ts';
import type { Exchange } from '../../ports/exchange.ts';
import { DirectAttachment } from '../direct-attachment.ts';
import type { AggregateParts } from './aggregate-parts.ts';
import { listingOf, mergedHello, pageOf } from './answers.ts';
import type { ClientLinks, Link } from './client-links.ts';
import { follow, type Sending, type Way } from './follow.ts';
import type { Member } from './member.ts';
import type { Candidate, Route } from './route.ts';
import { RoutedExchange, uriOf } from './routed-exchange.ts';
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
  readonly #way: Way<Exchange> = {
    refuse: (exchange, error, denial) => exchange.refuse(error, denial),
    answer: (exchange, result) => exchange.answer(result),
    send: (exchange, candidate, sending) => this.#send(exchange, candidate, sending),
  };

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

  dispatch(exchange: Exchange): void {
    const { frame } = exchange;
    // There may be room by now.
    if (this.#links.hasGaps) this.#links.fillGaps();
    if (isListMethod(frame.method)) this.#list(exchange, frame.method);
    else if (frame.method === SET_LEVEL) this.#setLevel(exchange);
    else if (this.#isWatched(frame)) contain(exchange, this.#unwatch(exchange));
    else this.#route(exchange);
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

  #list(exchange: Exchange, method: ListMethod): void {
    const answer = (listing: Listing): void => {
      const { principal } = exchange.client;
      const reader = { parts: this.#parts, principal, era: 'legacy' } as const;
      const found = pageOf(exchange.frame, listing, reader);
      if ('error' in found) exchange.refuse(found.error);
      else exchange.answer(found.page);
    };
    const listing = listingOf(this.#links.view, method, this.#parts);
    if (listing instanceof Promise) contain(exchange, listing.then(answer));
    else answer(listing);
  }

  /** Every server that logs is told; one that refuses keeps its own level. */
  #setLevel(exchange: Exchange): void {
    const { bytes, levelStart, levelEnd } = exchange.frame;
    const severity = severityOf(parseString(bytes, levelStart, levelEnd));
    const seats = this.#links.links.flatMap(({ seat }) =>
      seat?.identity?.capabilities['logging'] === undefined ? [] : [seat],
    );
    if (severity === undefined) {
      exchange.refuse({ code: INVALID_PARAMS, message: 'Invalid params: unknown log level.' });
    } else if (seats.length === 0) {
      exchange.refuse({
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
      void Promise.allSettled(told).then(() => exchange.answer(EMPTY_RESULT));
    }
  }

  #route(exchange: Exchange): void {
    const route = routeOf(exchange, {
      view: this.#links.view,
      parts: this.#parts,
      era: 'legacy',
      principal: exchange.client.principal,
    });
    if (route instanceof Promise) {
      contain(
        exchange,
        route.then((found) => this.#follow(exchange, found)),
      );
    } else this.#follow(exchange, route);
  }

  #follow(exchange: Exchange, route: Route): void {
    const isWatch = exchange.frame.method === SUBSCRIBE;
    if (isWatch && route.kind === 'to') {
      contain(exchange, this.#watch(exchange, [route.candidate]));
    } else if (isWatch && route.kind === 'inTurn') {
      contain(exchange, this.#watch(exchange, route.candidates));
    } else {
      follow(exchange, route, this.#parts.calls, this.#way);
    }
  }

  #isWatched(frame: Frame): boolean {
    return frame.method === UNSUBSCRIBE && this.#links.watched.has(uriOf(frame));
  }

  async #watch(exchange: Exchange, candidates: readonly Candidate[]): Promise<void> {
    const owners = candidates.map(({ member, frame }) => ({ key: member.key, uri: uriOf(frame) }));
    const error = await this.#links.watched.watch(uriOf(exchange.frame), owners);
    if (error === undefined) exchange.answer(EMPTY_RESULT);
    else exchange.refuse(error);
  }

  /** A resource is unsubscribed from where it was subscribed to, and nowhere else. */
  async #unwatch(exchange: Exchange): Promise<void> {
    await this.#links.watched.unwatch(uriOf(exchange.frame));
    exchange.answer(EMPTY_RESULT);
  }

  #send(exchange: Exchange, candidate: Candidate, sending: Sending): void {
    const { member, frame } = candidate;
    const { entry, limitMs, missed } = sending;
    const link = this.#links.links[member.index];
    if (link?.seat === undefined) {
      this.#unreachable(exchange, member, missed);
      return;
    }
    const { client } = link;
    const options = { expose: client.expose, limitMs, missed };
    this.#dispatch(new RoutedExchange(exchange, frame, client, options), member, link, entry);
  }

  #dispatch(
    routed: RoutedExchange,
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
      (error: unknown) => routed.fail(asGatewayError(error, member.key)),
    );
  }

  #sendWhenReady(
    routed: RoutedExchange,
    member: Member,
    link: Link,
    entry: OfferedEntry | undefined,
  ): void {
    if (routed.isSettled) return;
    if (link.seat?.identity !== undefined) this.#dispatch(routed, member, link, entry);
    else routed.fail(unavailable(member.key, 'it gave no handshake'));
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

  #unreachable(exchange: Exchange, member: Member, missed: Sending['missed']): void {
    const { key } = member;
    const refusal = this.#links.refusalOf(this.#parts.members.indexOf(member));
    const deliver = (): void =>
      exchange.fail(refusal ?? unavailable(key, 'there is no place for this client'));
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
