// A client's lease of an instance: sends its calls there, and updates the server's log level and
// subscriptions, which all clients share.

import type { GatewayError } from '../base/errors.ts';
import { LEAST_COST, TurnQuota, turnFor } from '../base/turns.ts';
import type { WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { ERRORS, wireErrorOf } from '../mcp/errors.ts';
import { FAILURES } from '../mcp/failures.ts';
import { type LoggingLevel, severityOf } from '../mcp/log-levels.ts';
import { ROOTS_CHANGED, TASK_STATUS } from '../mcp/methods.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Lease, ListKind, ServerIdentity, SubscribeAnswered } from '../ports/lease.ts';
import type { Request } from '../ports/request.ts';
import type { Instance } from './instance.ts';
import type { Subscriber, Subscriptions } from './subscriptions.ts';
import type { UpstreamSubscriptions } from './upstream-subscriptions.ts';

const OF_ONE_CLIENT: ReadonlySet<string> = new Set([ROOTS_CHANGED, TASK_STATUS]);
/** How many resources clients begin to watch in one turn of the event loop. */
const IN_TURN = new TurnQuota(256 * LEAST_COST);

/** Separates the name of an instance from its generation. */
export const GENERATION_MARK = '@';

/** The instances of one server, and their clients. */
export interface InstancePool {
  readonly all: readonly Instance[];
  /**
   * The instance for a client; must be given back with `release`.
   * @throws GatewayError if no process may be started for it
   */
  acquire(client: Downstream): Instance;
  /**
   * The instance of a client if it already exists; must be given back with `release`.
   * @throws GatewayError if the client lacks something that its instance needs
   */
  acquireExisting(client: Downstream): Instance | undefined;
  /**
   * An existing instance; must be given back with `release`.
   * @param name from `nameOf`
   * @returns undefined if the client's principal and credentials have no such instance
   */
  acquireNamed(client: Downstream, name: string): Instance | undefined;
  /** The name of an instance. */
  nameOf(instance: Instance): string;
  /** The instance for a call: the client's own, or another one if the call would have to wait there. */
  instanceFor(request: Request, own: Instance): Instance;
  /** The pool takes no new clients: an instance is kept as long as it has calls, whoever leaves it. */
  retire(): void;
  /** A client no longer needs its instance. */
  release(instance: Instance, client: Downstream): void;
  /** Ends all instances. */
  close(reason: 'server_unavailable' | 'draining'): Promise<void>;
}

/** One client at one instance. */
export class InstanceLease implements Lease, Subscriber {
  readonly client: Downstream;
  readonly instance: Instance;
  severity: number | undefined = undefined;
  onUp: (() => void) | undefined = undefined;
  readonly #pool: InstancePool;
  #hasJoined = false;
  #hasLeft = false;

  constructor(client: Downstream, instance: Instance, pool: InstancePool) {
    this.client = client;
    this.instance = instance;
    this.#pool = pool;
  }

  get identity(): ServerIdentity | undefined {
    return this.instance.identity;
  }

  get server(): string {
    return this.instance.server.options.name;
  }

  get at(): string {
    return `${this.#pool.nameOf(this.instance)}${GENERATION_MARK}${this.instance.generation}`;
  }

  get watched(): readonly string[] {
    return this.instance.fanOut.resources.watchedBy(this);
  }

  get isShared(): boolean {
    return this.instance.server.isShared;
  }

  get isDown(): boolean {
    return this.instance.state === 'backoff';
  }

  get unavailableReason(): GatewayError | undefined {
    return this.instance.unavailableReason;
  }

  listKey(kind: ListKind): object {
    return this.instance.lists.keyOf(kind);
  }

  list(method: string, cursor: string | undefined): Promise<Frame | undefined> {
    return this.instance.list(method, cursor);
  }

  ready(): Promise<void> {
    return this.instance.ready();
  }

  running(): Promise<void> {
    return this.instance.running();
  }

  dispatch(request: Request): void {
    const { instance } = this;
    const isBound = request.isBoundToLease === true;
    (isBound ? instance : this.#pool.instanceFor(request, instance)).dispatch(request);
  }

  notify(notification: Frame): void {
    // Roots, and tasks at a client, belong to one client. A shared server does not know about them.
    if (OF_ONE_CLIENT.has(notification.method) && this.isShared) return;
    this.instance.notify(notification.bytes);
  }

  async join(level: LoggingLevel | undefined): Promise<void> {
    if (this.#hasLeft) return;
    this.#hasJoined = true;
    this.instance.fanOut.join(this);
    if (level !== undefined) await this.setLevel(level);
  }

  async setLevel(level: LoggingLevel): Promise<WireError | undefined> {
    const { fanOut } = this.instance;
    const before = fanOut.level;
    this.severity = severityOf(level);
    const now = fanOut.level;
    if (now === undefined || now === before) return undefined;
    return await this.#update((upstreamSubscriptions) => upstreamSubscriptions.setLevel(now));
  }

  subscribe(uri: string): Promise<WireError | undefined> {
    return this.#watch(this.instance.fanOut.resources, uri, (upstreamSubscriptions) =>
      upstreamSubscriptions.subscribe(uri),
    );
  }

  async subscribeAll(uris: readonly string[], answered: SubscribeAnswered): Promise<void> {
    const { resources } = this.instance.fanOut;
    const asked = new Map<string, (error: WireError | undefined) => void>();
    const others: Promise<void>[] = [];
    for (const uri of uris) {
      const turn = turnFor(IN_TURN, uri.length);
      if (turn !== undefined) await turn;
      const isFirst = !resources.has(uri);
      const refused = this.#hasLeft ? ERRORS.clientLeft : resources.add(this, uri);
      const answer = resources.answerFor(uri);
      if (refused === undefined && isFirst) asked.set(uri, resources.ask(uri));
      else if (refused !== undefined || answer === undefined) answered(uri, refused);
      else others.push(answer.then((error) => answered(uri, error)));
    }
    if (asked.size > 0) {
      await this.#askForAll([...asked.keys()], (uri, error) => {
        asked.get(uri)?.(error);
        answered(uri, error);
      });
    }
    await Promise.all(others);
  }

  async #askForAll(uris: readonly string[], answered: SubscribeAnswered): Promise<void> {
    const error = await this.#update(async (upstreamSubscriptions) => {
      await upstreamSubscriptions.subscribeAll(uris, answered);
      return undefined;
    });
    if (error === undefined) return;
    for (const uri of uris) answered(uri, error);
  }

  async unsubscribe(uri: string): Promise<WireError | undefined> {
    if (!this.instance.fanOut.resources.remove(this, uri)) return undefined;
    return await this.#update((upstreamSubscriptions) => upstreamSubscriptions.unsubscribe(uri));
  }

  watchTask(taskId: string): Promise<WireError | undefined> {
    return this.#watch(this.instance.fanOut.tasks, taskId, (upstreamSubscriptions) =>
      upstreamSubscriptions.watchTask(taskId),
    );
  }

  async #watch(
    all: Subscriptions,
    what: string,
    tell: (upstreamSubscriptions: UpstreamSubscriptions) => Promise<WireError | undefined>,
  ): Promise<WireError | undefined> {
    if (this.#hasLeft) return ERRORS.clientLeft;
    const isFirst = !all.has(what);
    const refused = all.add(this, what);
    if (refused !== undefined) return refused;
    // The server may still refuse it.
    if (!isFirst) return await all.answerFor(what);
    const answered = all.ask(what);
    // The client may have left while the server started.
    const error = await this.#update((upstreamSubscriptions) => {
      return all.has(what) ? tell(upstreamSubscriptions) : Promise.resolve(ERRORS.clientLeft);
    });
    answered(error);
    return error;
  }

  succeed(before: Lease): void {
    // Those of all clients are told all at once.
    if (!this.isShared && before instanceof InstanceLease) this.instance.succeed([before.instance]);
  }

  leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    if (this.#hasJoined) this.#leaveFanOut();
    this.#pool.release(this.instance, this.client);
  }

  #leaveFanOut(): void {
    const { fanOut } = this.instance;
    const before = fanOut.level;
    const { uris, taskIds } = fanOut.leave(this);
    const { upstreamSubscriptions } = this.instance;
    upstreamSubscriptions?.unsubscribeAll(uris);
    if (taskIds.length > 0) void upstreamSubscriptions?.unwatchTasks();
    const { level } = fanOut;
    if (level !== undefined && level !== before) void upstreamSubscriptions?.setLevel(level);
  }

  /** Updates the server for all clients. */
  async #update(
    tell: (upstreamSubscriptions: UpstreamSubscriptions) => Promise<WireError | undefined>,
  ): Promise<WireError | undefined> {
    // A failed server is not waited for.
    if (!this.isDown) await this.instance.running().catch(() => undefined);
    const { upstreamSubscriptions } = this.instance;
    if (upstreamSubscriptions !== undefined) return await tell(upstreamSubscriptions);
    return wireErrorOf(FAILURES.unavailable(this.server, 'is not available.'));
  }
}
