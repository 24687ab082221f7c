// A legacy session's link to several servers as one: what it asks for goes to the server that has
// it, and what belongs to all of them is done at each.
import { GatewayError, messageOf } from '../../base/errors.ts';
import { SessionTasks } from '../../bridge/tasks/session-tasks.ts';
import { isListMethod, type ListMethod } from '../../catalog/list-kinds.ts';
import type { Listing } from '../../catalog/listing.ts';
import { exposeResult } from '../../catalog/resource-texts.ts';
import type { UriOwner } from '../../catalog/resource-uris.ts';
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
import type { Exchange } from '../../ports/exchange.ts';
import { DirectAttachment } from '../direct-attachment.ts';
import type { AggregateParts } from './aggregate-parts.ts';
import { listingOf, mergedHello, pageOf } from './answers.ts';
import type { ClientLinks, Link } from './client-links.ts';
import { inTurn } from './in-turn.ts';
import type { Member } from './member.ts';
import type { Candidate, Route } from './route.ts';
import { RoutedExchange, type RouteOptions } from './routed-exchange.ts';
import { routeOf, withUri } from './routes.ts';

const EMPTY_RESULT = Buffer.from('{}');
/** What a client may say to any of its servers. */
const SAID_BY_CLIENTS: ReadonlySet<string> = new Set([ROOTS_CHANGED, TASK_STATUS, PROGRESS]);

/** How a call is sent. */
interface Sending extends Omit<RouteOptions, 'edit'> {
  /** The tool, where the client was told that its results are wrapped. */
  readonly wrapped?: string | undefined;
}

/** A session's link to the servers of an endpoint. */
export class AggregateAttachment implements Attachment {
  readonly welcome: Welcome;
  readonly #parts: AggregateParts;
  readonly #links: ClientLinks;
  readonly #keys: readonly string[];
  /** Links to servers whose handshake is done. */
  readonly #direct = new Map<string, DirectAttachment>();
  /** Where a watched resource is, by the URI that the client knows. */
  readonly #watched = new Map<string, UriOwner>();

  constructor(links: ClientLinks, parts: AggregateParts) {
    this.#parts = parts;
    this.#links = links;
    this.#keys = parts.members.map(({ key }) => key);
    this.welcome = this.#welcome(links);
  }

  /** One server alone says itself who it is. */
  #welcome({ links, welcomeParts }: ClientLinks): Welcome {
    const [only, ...others] = links;
    const [key] = this.#keys;
    const direct =
      only !== undefined && others.length === 0 && key !== undefined
        ? this.#directTo(key, only)
        : undefined;
    if (direct !== undefined) return direct.welcome;
    return { result: mergedHello(welcomeParts, this.#parts.gatewayVersion) };
  }

  dispatch(exchange: Exchange): void {
    const { frame } = exchange;
    if (isListMethod(frame.method)) this.#list(exchange, frame.method);
    else if (frame.method === SET_LEVEL) this.#setLevel(exchange);
    else this.#route(exchange);
  }

  notify(notification: Frame): void {
    const { method } = notification;
    for (const [index, { seat, client }] of this.#links.links.entries()) {
      const item = { server: this.#keys[index] ?? '', kind: 'method', name: method } as const;
      const isOpen =
        SAID_BY_CLIENTS.has(method) || this.#parts.visibility.allows(client.principal, item);
      if (isOpen) seat?.notify(notification);
    }
  }

  detach(): void {
    for (const direct of this.#direct.values()) direct.detach();
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
    if (listing instanceof Promise) void listing.then(answer);
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
      // Servers that come later log from this level on too.
      for (const { seat } of this.#links.links) {
        if (seat !== undefined && seat.identity === undefined) void seat.setLevel(level);
      }
      const told = seats.map((seat) => seat.setLevel(level));
      void Promise.allSettled(told).then(() => exchange.answer(EMPTY_RESULT));
    }
  }

  #route(exchange: Exchange): void {
    const watched = this.#unwatched(exchange.frame);
    const route =
      watched ??
      routeOf(exchange, {
        view: this.#links.view,
        parts: this.#parts,
        era: 'legacy',
        principal: exchange.client.principal,
      });
    if (route instanceof Promise) void route.then((found) => this.#follow(exchange, found));
    else this.#follow(exchange, route);
  }

  /** A resource is unsubscribed from where it was subscribed to. */
  #unwatched(frame: Frame): Route | undefined {
    if (frame.method !== UNSUBSCRIBE) return undefined;
    const uri = uriOf(frame);
    const at = this.#watched.get(uri);
    this.#watched.delete(uri);
    if (at === undefined) return undefined;
    return { kind: 'to', candidates: [{ key: at.key, frame: withUri(frame, uri, at.uri) }] };
  }

  #follow(exchange: Exchange, route: Route): void {
    if (exchange.isSettled) return;
    if (route.kind === 'refused') {
      exchange.refuse(route.error, route.denial);
      return;
    }
    if (route.kind === 'answered') {
      exchange.answer(route.result);
      return;
    }
    const { tool } = route;
    const [candidate] = route.candidates;
    if (tool === undefined || candidate === undefined) {
      inTurn(route.candidates, (one, missed) => this.#send(exchange, one, { missed }));
      return;
    }
    const validation = this.#memberOf(candidate.key)?.validation ?? 'off';
    // Where a client was told that the results of a tool are wrapped.
    const wrapped = tool.legacyText === tool.modernText ? undefined : tool.upstream;
    this.#parts.calls.prepare(exchange, { tool, candidate, validation }, (call, own, limitMs) =>
      this.#send(call, own, { limitMs, wrapped }),
    );
  }

  #memberOf(key: string): Member | undefined {
    return this.#parts.members[this.#keys.indexOf(key)];
  }

  #send(exchange: Exchange, candidate: Candidate, sending: Sending): void {
    const { key, frame } = candidate;
    const link = this.#links.links[this.#keys.indexOf(key)];
    if (link?.seat === undefined) {
      this.#unreachable(exchange, key, sending.missed);
      return;
    }
    const { method } = exchange.frame;
    const expose = (uri: string): string =>
      this.#links.view.knownResources().table.exposed(key, uri);
    const routed = new RoutedExchange(exchange, frame, link.client, {
      edit: (result) => {
        // There is a result: this server has agreed.
        if (method === SUBSCRIBE) this.#watch(exchange, candidate);
        return exposeResult(method, result, expose);
      },
      ...sending,
    });
    this.#dispatch(routed, key, link, sending.wrapped);
  }

  #watch(exchange: Exchange, { key, frame }: Candidate): void {
    this.#watched.set(uriOf(exchange.frame), { key, uri: uriOf(frame) });
  }

  /** @param wrapped the tool, where the client was told that its results are wrapped */
  #dispatch(routed: RoutedExchange, key: string, link: Link, wrapped: string | undefined): void {
    const direct = this.#directTo(key, link);
    if (direct !== undefined) {
      if (wrapped !== undefined) direct.noteWrapped(wrapped);
      direct.dispatch(routed);
      return;
    }
    // The era of a server that never was up is not known yet.
    link.seat?.ready().then(
      () => this.#sendWhenReady(routed, key, link, wrapped),
      (error: unknown) => routed.fail(asFailure(error, key)),
    );
  }

  #sendWhenReady(
    routed: RoutedExchange,
    key: string,
    link: Link,
    wrapped: string | undefined,
  ): void {
    if (routed.isSettled) return;
    if (link.seat?.identity === undefined) routed.fail(asFailure('it gave no handshake', key));
    else this.#dispatch(routed, key, link, wrapped);
  }

  #directTo(key: string, { seat, client }: Link): DirectAttachment | undefined {
    const known = this.#direct.get(key);
    const member = this.#memberOf(key);
    if (known !== undefined || seat?.identity === undefined || member === undefined) return known;
    const tasks = new SessionTasks(client, seat, member.backend, this.#parts.state.tasks);
    const direct = new DirectAttachment(seat, key, tasks);
    this.#direct.set(key, direct);
    return direct;
  }

  #unreachable(exchange: Exchange, key: string, missed: RouteOptions['missed']): void {
    const deliver = (): void => exchange.fail(asFailure('there is no place for this client', key));
    if (missed === undefined) deliver();
    else missed(deliver);
  }
}

function uriOf({ bytes, uriStart, uriEnd }: Frame): string {
  return parseString(bytes, uriStart, uriEnd) ?? '';
}

function asFailure(error: unknown, server: string): GatewayError {
  if (error instanceof GatewayError) return error;
  const why = typeof error === 'string' ? error : messageOf(error);
  return new GatewayError('server_unavailable', `Server "${server}" can not be had: ${why}.`, {
    outcome: 'not_sent',
    server,
  });
}
