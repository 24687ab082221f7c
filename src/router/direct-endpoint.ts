// An endpoint for one server. Names and URIs are unchanged.

import { notOffered, type WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { EMPTY_OBJECT } from '../jsonrpc/json-text.ts';
import { isObject, parseString } from '../jsonrpc/parse.ts';
import { ERRORS } from '../mcp/errors.ts';
import { type LoggingLevel, levelOf, severityOf } from '../mcp/log-levels.ts';
import { SET_LEVEL, SUBSCRIBE, UNSUBSCRIBE } from '../mcp/methods.ts';
import type { Endpoint, EndpointInfo, UpstreamSession } from '../ports/dispatcher.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Backend, Lease } from '../ports/lease.ts';
import type { Principal } from '../ports/principal.ts';
import { type Outcome, type Request, settleLater } from '../ports/request.ts';
import { initializeResult } from '../translate/discovery.ts';
import { LegacyToModern } from '../translate/legacy-to-modern.ts';
import { ModernDispatcher, type ModernState } from '../translate/modern-dispatcher.ts';
import { WrappedResults } from '../translate/output-schemas.ts';
import { SessionTasks } from '../translate/tasks/session-tasks.ts';
import {
  type CarriedSession,
  type CarryingSession,
  carriedBy,
  leaseAfter,
  leaseBefore,
} from './carried-session.ts';

/** One server under one path. */
export class DirectEndpoint implements Endpoint {
  readonly name: string;
  readonly #backend: Backend;
  readonly #state: ModernState;
  readonly #modern: ModernDispatcher;

  constructor(name: string, backend: Backend, state: ModernState) {
    this.name = name;
    this.#backend = backend;
    this.#state = state;
    this.#modern = new ModernDispatcher(name, backend, state);
  }

  get server(): string {
    return this.#backend.name;
  }

  get protocol(): 'mcp' | 'jsonrpc' {
    return this.#backend.protocol;
  }

  get isShared(): boolean {
    return this.#backend.isShared;
  }

  credentialFingerprint(principal: Principal): string {
    return this.#backend.credentialFingerprint(principal);
  }

  async open(client: Downstream): Promise<UpstreamSession> {
    const lease = this.#backend.acquire(client);
    try {
      await lease.join(undefined);
      await lease.ready();
    } catch (error) {
      lease.leave();
      throw error;
    }
    return this.#sessionOf(client, lease);
  }

  async takeOver(client: Downstream, before: UpstreamSession): Promise<UpstreamSession> {
    const carried = carriedBy(before);
    const lease = leaseAfter(this.#backend, client, carried);
    // Not waited for: at an instance that it had there is nothing to tell.
    void lease.join(carried.level);
    // The server may never be ready; then the client is told so by its next call.
    await lease.ready().catch(() => undefined);
    const replaced = leaseBefore(this.#backend, carried);
    if (replaced !== undefined) lease.succeed(replaced);
    for (const { owners } of carried.watched) {
      for (const { key, uri } of owners) if (key === this.server) void lease.subscribe(uri);
    }
    return this.#sessionOf(client, lease);
  }

  #sessionOf(client: Downstream, lease: Lease): DirectUpstreamSession {
    if (this.protocol !== 'mcp') return new DirectUpstreamSession(lease, this.#backend);
    const tasks = new SessionTasks(client, lease, this.#backend, this.#state.tasks);
    return new DirectUpstreamSession(lease, this.#backend, tasks);
  }

  serve(request: Request): void {
    this.#modern.serve(request);
  }
}

/** A legacy session's link to one server. It passes on what is not handled by the gateway. */
export class DirectUpstreamSession implements CarryingSession {
  readonly endpointInfo: EndpointInfo;
  readonly #backend: Backend;
  readonly #lease: Lease;
  readonly #wrapped = new WrappedResults();
  readonly #tasks: SessionTasks | undefined;

  /** @param tasks absent for a plain JSON-RPC server: everything is passed on */
  constructor(lease: Lease, backend: Backend, tasks?: SessionTasks) {
    const { identity } = lease;
    const result = identity === undefined ? {} : initializeResult(identity, backend.name);
    this.#backend = backend;
    this.#lease = lease;
    this.#tasks = tasks;
    this.endpointInfo = { result: tasks === undefined ? {} : tasks.offeredIn(result) };
  }

  get carried(): CarriedSession {
    const { name } = this.#backend;
    const { severity, watched } = this.#lease;
    const held = { backend: this.#backend, lease: this.#lease };
    return {
      level: severity === undefined ? undefined : levelOf(severity),
      watched: watched.map((uri) => ({ uri, owners: [{ key: name, uri }] })),
      leaseAt: (server) => (server === name ? held : undefined),
    };
  }

  /** In the list of a merged endpoint, the client saw that the results of a tool are wrapped. */
  noteWrapped(tool: string): void {
    this.#wrapped.note(tool);
  }

  dispatch(request: Request): void {
    if (this.#tasks === undefined) {
      this.#lease.dispatch(request);
      return;
    }
    switch (request.frame.method) {
      case SET_LEVEL:
        this.#setLevel(request);
        return;
      case SUBSCRIBE:
        this.#subscription(request, (uri) => this.#lease.subscribe(uri));
        return;
      case UNSUBSCRIBE:
        this.#subscription(request, (uri) => this.#lease.unsubscribe(uri));
        return;
      default:
        if (this.#tasks.take(request)) return;
        this.#lease.dispatch(
          this.#lease.identity?.era === 'modern'
            ? new LegacyToModern(request, this.#lease, this.#wrapped)
            : request,
        );
    }
  }

  notify(notification: Frame): void {
    this.#lease.notify(notification);
  }

  close(): void {
    this.#tasks?.close();
    this.#lease.leave();
  }

  #setLevel(request: Request): void {
    const level = levelIn(request.frame);
    if (level === undefined) {
      request.settle(ERRORS.badLogLevel);
    } else if (this.#lease.identity?.capabilities['logging'] === undefined) {
      request.settle(notOffered('logging'));
    } else {
      settleLater(request, this.#lease.setLevel(level).then(emptyOr));
    }
  }

  #subscription(request: Request, change: (uri: string) => Promise<WireError | undefined>): void {
    const { bytes, uriStart, uriEnd } = request.frame;
    const uri = parseString(bytes, uriStart, uriEnd);
    const resources = this.#lease.identity?.capabilities['resources'];
    if (uri === undefined) {
      request.settle(ERRORS.badUri);
    } else if (!isObject(resources) || resources['subscribe'] !== true) {
      request.settle(notOffered('subscriptions'));
    } else {
      settleLater(request, change(uri).then(emptyOr));
    }
  }
}

/** `{}`, or the error. */
function emptyOr(error: WireError | undefined): Outcome {
  return error ?? EMPTY_OBJECT;
}

/** The level in a request; undefined if it is not valid. */
export function levelIn({ bytes, levelStart, levelEnd }: Frame): LoggingLevel | undefined {
  const severity = severityOf(parseString(bytes, levelStart, levelEnd));
  return severity === undefined ? undefined : levelOf(severity);
}
