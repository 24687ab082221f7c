// Decides which clients of one instance get the server's notifications. Owns the leases, their subscriptions
// and log levels, and outlives restarts of the server (docs/configuration.md#serversname,
// docs/protocol.md#log-messages, #changes-and-subscriptions).
import { after, monotonicMs, type Timer } from '../base/clock.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { parseParams, parseString } from '../jsonrpc/parse.ts';
import { DEFAULT_SHARED_LEVEL, type LoggingLevel, levelOf, severityOf } from '../mcp/log-levels.ts';
import {
  ELICITATION_COMPLETE,
  LIST_CHANGED,
  MESSAGE,
  RESOURCE_UPDATED,
  TASK_STATUS,
} from '../mcp/methods.ts';
import { TASK_UPDATE } from '../mcp/modern-methods.ts';
import { taskKind } from '../mcp/subscription.ts';
import { soleCaller } from '../mux/attribution.ts';
import { ElicitationOwners } from '../mux/elicitation-owners.ts';
import type { Audience } from '../mux/mux-contract.ts';
import { RecentCallers } from '../mux/recent-callers.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Caller, Request } from '../ports/request.ts';
import { Deliveries } from './deliveries.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { ServerContext } from './server-context.ts';
import { type Subscriber, Subscriptions } from './subscriptions.ts';
import type { DesiredSubscriptions } from './upstream-subscriptions.ts';

/** Several changes in this time become one notification (docs/protocol.md#changes-and-subscriptions). */
const DEBOUNCE_MS = 100;

/** The clients of one instance. */
export class FanOut implements Audience {
  /** The principals of recent calls and of clients that left. */
  readonly recent = new RecentCallers();
  /** Which client watches which resource, by URI. */
  readonly resources: Subscriptions;
  /** Which client watches which task, by the server's id. */
  readonly tasks: Subscriptions;
  /** Which client got which elicitation: its completion is announced only by id. */
  readonly elicitations = new ElicitationOwners();
  readonly deliveries = new Deliveries();
  readonly #server: ServerContext;
  readonly #life: Lifecycle;
  readonly #subscribers = new Set<Subscriber>();
  readonly #pending = new Map<string, { message: Buffer; timer: Timer }>();

  constructor(server: ServerContext, life: Lifecycle) {
    this.#server = server;
    this.#life = life;
    this.resources = new Subscriptions((principal) => server.held?.client(principal));
    this.tasks = new Subscriptions((principal) => server.held?.client(principal));
  }

  get size(): number {
    return this.#subscribers.size;
  }

  join(subscriber: Subscriber): void {
    this.#subscribers.add(subscriber);
  }

  /**
   * Removes a client.
   * @returns what is no longer watched
   */
  leave(subscriber: Subscriber): DesiredSubscriptions {
    if (this.#subscribers.delete(subscriber)) this.recent.note(subscriber.client, monotonicMs());
    this.elicitations.left(subscriber.client);
    return { uris: this.resources.leave(subscriber), taskIds: this.tasks.leave(subscriber) };
  }

  get soleClient(): Downstream | undefined {
    if (this.#server.isShared || this.#subscribers.size !== 1) return undefined;
    for (const subscriber of this.#subscribers) return subscriber.client;
    return undefined;
  }

  /** The most verbose level that any client has set; undefined if none has. */
  get level(): LoggingLevel | undefined {
    let least: number | undefined;
    for (const { severity } of this.#subscribers) {
      if (severity !== undefined && (least === undefined || severity < least)) least = severity;
    }
    return least === undefined ? undefined : levelOf(least);
  }

  /** What the server must be subscribed to. */
  get wanted(): DesiredSubscriptions {
    return { uris: this.resources.all, taskIds: this.tasks.all };
  }

  /** Whether any client watches anything. */
  get isWatched(): boolean {
    return this.resources.size + this.tasks.size > 0;
  }

  /** The server can be used again. */
  up(): void {
    for (const subscriber of [...this.#subscribers]) subscriber.onUp?.();
  }

  /**
   * Delivers a notification of the server.
   * @param about the caller that it belongs to, if that is known
   */
  deliver(notification: Frame, about?: Caller): void {
    const { method } = notification;
    // Notifications of a plain JSON-RPC server go to all clients.
    if (this.#server.options.protocol === 'jsonrpc') this.#toAll(notification, undefined);
    else if (LIST_CHANGED.has(method)) this.listChanged(method, notification.bytes);
    else if (method === RESOURCE_UPDATED) this.#resourceUpdated(notification);
    else if (method === MESSAGE) this.#logMessage(notification, about);
    else if (method === TASK_UPDATE || method === TASK_STATUS) this.#taskChanged(notification);
    else if (method === ELICITATION_COMPLETE) this.#elicitationComplete(notification);
    else this.#toCaller(notification, undefined, about);
  }

  /** Tells every client that a list has changed, once for several changes in a row. */
  listChanged(method: string, message: Buffer): void {
    const pending = this.#pending.get(method);
    if (pending !== undefined) {
      pending.message = message;
      return;
    }
    const timer = after(DEBOUNCE_MS, () => {
      const latest = this.#pending.get(method)?.message ?? message;
      this.#pending.delete(method);
      this.deliveries.tell(this.#subscribers, latest, method);
    });
    this.#pending.set(method, { message, timer });
  }

  /** Removes all clients. */
  close(): void {
    for (const { timer } of this.#pending.values()) timer.cancel();
    this.#pending.clear();
    this.deliveries.clear();
    this.#subscribers.clear();
    this.resources.clear();
    this.tasks.clear();
    this.elicitations.clear();
  }

  #resourceUpdated(notification: Frame): void {
    const { bytes, uriStart, uriEnd } = notification;
    const uri = parseString(bytes, uriStart, uriEnd);
    if (uri === undefined) return;
    const kind = `${RESOURCE_UPDATED} ${uri}`;
    const watchers = this.resources.coveringWatchers(uri);
    if (watchers.size > 0) this.deliveries.tell(watchers, bytes, kind);
    else if (this.#server.isShared) this.#withhold('not_subscribed');
    else this.deliveries.tell(this.#subscribers, bytes, kind);
  }

  /** Only subscribers of a task get its notifications. */
  #taskChanged(notification: Frame): void {
    const { taskId } = parseParams(notification);
    if (typeof taskId !== 'string') {
      this.#withhold('not_subscribed');
      return;
    }
    const watchers = this.tasks.watchersOf(taskId);
    if (watchers.size === 0) this.#withhold('not_subscribed');
    this.deliveries.tell(watchers, notification.bytes, taskKind(taskId));
  }

  #logMessage(notification: Frame, about: Caller | undefined): void {
    const { bytes, levelStart, levelEnd } = notification;
    const severity = severityOf(parseString(bytes, levelStart, levelEnd));
    this.#toCaller(notification, severity ?? 0, about);
  }

  #elicitationComplete(notification: Frame): void {
    const elicitationId = parseParams(notification)['elicitationId'];
    const client =
      typeof elicitationId === 'string' ? this.elicitations.end(elicitationId) : undefined;
    if (client === undefined) this.#withhold('unattributable');
    else client.notify(notification.bytes, undefined);
  }

  /** Sends it to the client whose call it belongs to, or to all clients if they are one principal. */
  #toCaller(notification: Frame, severity: number | undefined, about: Caller | undefined): void {
    const request = about === undefined ? this.#soleCaller(severity) : about.request;
    const client = about?.client ?? request?.client;
    if (client === undefined) {
      this.#toAll(notification, severity);
    } else if (this.#isWantedBy(client, severity)) {
      const { bytes } = notification;
      if (request?.push(bytes) !== true) client.notify(bytes, undefined);
    }
  }

  // It does not belong to calls that asked for no logs, or for less verbose ones.
  #soleCaller(severity: number | undefined): Request | undefined {
    const { identity, mux } = this.#life;
    if (mux === undefined) return undefined;
    // A modern server logs only for requests that ask for it.
    const isAskedFor = severity !== undefined && identity?.era === 'modern';
    const mayBeFor = (client: Downstream): boolean =>
      !isAskedFor || this.#asksFor(client, severity);
    const caller = soleCaller(mux.calls(), monotonicMs(), mayBeFor);
    if (caller === undefined) return undefined;
    // It may still belong to another principal's call that has ended, or continues as a task.
    const { key } = caller.client.principal;
    if (this.recent.isOther(key, monotonicMs(), isAskedFor)) return undefined;
    for (const other of mux.callers()) {
      if (other.principal.key !== key && mayBeFor(other)) return undefined;
    }
    return caller;
  }

  #asksFor(client: Downstream, severity: number): boolean {
    const threshold = client.logThreshold ?? this.#subscriberOf(client)?.severity;
    return threshold !== undefined && severity >= threshold;
  }

  /** Whether a call of `client` may have caused a notification; `severity` is that of a log message. */
  #isWantedBy(client: Downstream, severity: number | undefined): boolean {
    const { logThreshold } = client;
    if (logThreshold !== undefined) return severity !== undefined && severity >= logThreshold;
    return severity === undefined || this.#wants(this.#subscriberOf(client), severity);
  }

  #toAll(notification: Frame, severity: number | undefined): void {
    if (!this.#isOnePrincipal()) {
      this.#withhold('unattributable');
      return;
    }
    const wanting =
      severity === undefined
        ? this.#subscribers
        : [...this.#subscribers].filter((subscriber) => this.#wants(subscriber, severity));
    this.deliveries.tell(wanting, notification.bytes, undefined);
  }

  #subscriberOf(client: Downstream): Subscriber | undefined {
    for (const subscriber of this.#subscribers) if (subscriber.client === client) return subscriber;
    return undefined;
  }

  // Without a level, the server's default applies if it serves only one client
  // (docs/protocol.md#log-messages).
  #wants(subscriber: Subscriber | undefined, severity: number): boolean {
    const unset = this.#server.isShared ? severityOf(DEFAULT_SHARED_LEVEL) : 0;
    return severity >= (subscriber?.severity ?? unset ?? 0);
  }

  // A client that has disconnected counts as long as the server may still work for it.
  #isOnePrincipal(): boolean {
    const keys = new Set<string>();
    for (const { client } of this.#subscribers) keys.add(client.principal.key);
    for (const { principal } of this.#life.mux?.callers() ?? []) keys.add(principal.key);
    const [key] = keys;
    return keys.size <= 1 && (key === undefined || !this.recent.isOther(key, monotonicMs(), false));
  }

  #withhold(reason: string): void {
    const { metrics, options } = this.#server;
    metrics.notificationsWithheld.inc({ server: options.name, reason });
  }
}
