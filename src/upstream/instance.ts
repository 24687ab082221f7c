// One running copy of a server: starts it, keeps it running, queues calls while it can't take them, and
// restores its state after a restart. It has one state, which changes in one place.

import { after, monotonicMs, type Timer } from '../base/clock.ts';
import { type GatewayError, messageOf } from '../base/errors.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import type { JsonObject } from '../jsonrpc/parse.ts';
import type { Logger } from '../observe/logger.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { ServerIdentity } from '../ports/lease.ts';
import type { Principal } from '../ports/principal.ts';
import type { Request } from '../ports/request.ts';
import { CallQueue } from './call-queue.ts';
import { Connection, type ConnectionOwner } from './connection.ts';
import { DRAINING, isLasting, type LastEnd, reasonLabel } from './end-reasons.ts';
import { FanOut } from './fan-out.ts';
import { type ClientIdentity, handshake, ownEnvelope } from './handshake.ts';
import { EraSearch } from './known-era.ts';
import { KnownLists } from './known-lists.ts';
import { type InstanceState, Lifecycle } from './lifecycle.ts';
import { ProcessSlotHolder, type SlotOwner } from './process-budget.ts';
import type { ServerContext } from './server-context.ts';
import { type UpstreamSubscriptions, upstreamSubscriptionsOf } from './upstream-subscriptions.ts';

/** How long a request of the gateway itself to a server may take. */
const OWN_REQUEST_MS = 10_000;
const ENDED = 'server ended, it is started again';

/** A server that is kept running. */
export class Instance implements ConnectionOwner {
  readonly server: ServerContext;
  readonly logger: Logger;
  readonly life: Lifecycle;
  readonly queue: CallQueue;
  readonly fanOut: FanOut;
  readonly lists: KnownLists;
  /** The client, or the gateway, as the server sees it. */
  readonly #clientIdentity: ClientIdentity;
  readonly #slot: ProcessSlotHolder;
  readonly #era: EraSearch;
  readonly #stopping = new Set<Promise<void>>();
  #connection: Connection | undefined;
  #upstreamSubscriptions: UpstreamSubscriptions | undefined;
  #idleTimer: Timer | undefined;
  #starts = 0;
  /** Whether clients were at another instance before, and may know its lists. */
  #isSuccessor = false;

  /** @param owner of the slot for its process; undefined if it needs no slot */
  constructor(
    server: ServerContext,
    clientIdentity: ClientIdentity,
    logger: Logger,
    owner?: SlotOwner,
  ) {
    this.server = server;
    this.logger = logger;
    this.#clientIdentity = clientIdentity;
    this.life = new Lifecycle(server, logger, () => this.#begin());
    this.queue = new CallQueue(server, this.life);
    this.fanOut = new FanOut(server, this.life);
    this.lists = new KnownLists(server.owner);
    this.#slot = new ProcessSlotHolder(server.budget, owner);
    this.#era = new EraSearch(server.options, server.era);
  }

  get state(): InstanceState {
    return this.life.state;
  }

  get identity(): ServerIdentity | undefined {
    return this.life.identity;
  }

  get lastEnd(): LastEnd {
    return this.life.lastEnd;
  }

  /** The server's subscriptions for all clients; undefined while it does not run. */
  get upstreamSubscriptions(): UpstreamSubscriptions | undefined {
    return this.state === 'ready' ? this.#upstreamSubscriptions : undefined;
  }

  get isUp(): boolean {
    return this.state === 'ready' || (this.state === 'idle' && this.lastEnd.text === undefined);
  }

  get hasProcess(): boolean {
    return this.#connection !== undefined;
  }

  /** The generation of the running server; empty if none is running, or if it has no generations. */
  get generation(): string {
    return this.#connection?.generation ?? '';
  }

  get inFlight(): number {
    return this.#connection?.mux.inFlight ?? 0;
  }

  /** The number of calls: at the server, waiting, or running as tasks. */
  get load(): number {
    return this.inFlight + this.queue.queued + (this.#connection?.mux.tasks.size ?? 0);
  }

  /** Whether an interactive call of `client` would have to wait. */
  hasInteractiveCallOfOthers(client: Downstream): boolean {
    return this.#connection?.mux.hasInteractiveCallOfOthers(client) ?? false;
  }

  /** Whether nothing needs the process, so that it could be stopped. */
  get isUnused(): boolean {
    // A watched resource needs the server too.
    return this.state !== 'starting' && this.load === 0 && !this.fanOut.isWatched;
  }

  /**
   * Takes the slot for its process, if it does not have it yet.
   * @throws GatewayError if there is none
   */
  takeSlot(): void {
    this.#slot.take();
  }

  /** Why the server can't be used now; undefined if it can. */
  get unavailableReason(): GatewayError | undefined {
    if (this.state === 'ready') return undefined;
    if (this.state === 'idle') return this.#slot.refusal;
    return this.state === 'starting' ? this.queue.starting() : this.queue.unavailable();
  }

  /** Stops the process. The next call starts it again. */
  stopIdle(): void {
    if (this.state === 'starting' || this.state === 'closed') return;
    this.life.restarts.cancel();
    this.life.transition('idle');
    this.#connection?.end('idle');
    void this.#givePlaceBack();
  }

  /**
   * Waits until the server has done its first handshake.
   * @throws GatewayError if it can't be started
   */
  async ready(): Promise<void> {
    if (this.identity === undefined || this.life.restarts.failFast) await this.running();
    else this.life.start();
  }

  /**
   * Waits until the server runs.
   * @throws GatewayError if it can't be started
   */
  async running(): Promise<void> {
    const { life, queue } = this;
    const endMs = monotonicMs() + this.server.options.timeouts.start;
    if (life.state === 'idle') this.takeSlot();
    life.start();
    while (life.state !== 'ready' && monotonicMs() < endMs) {
      if (life.state === 'closed' || life.restarts.failFast) break;
      if (life.restarts.dueInMs > endMs - monotonicMs()) break;
      await life.next(endMs - monotonicMs());
    }
    if (life.state === 'closed') throw queue.stopped();
    if (life.state === 'starting') throw queue.starting();
    if (life.state !== 'ready') throw queue.unavailable();
  }

  /** The principal of a private instance was seen, perhaps with newer credentials. */
  seen(principal: Principal): void {
    if (!this.server.isShared) this.life.principal = principal;
  }

  /** Sends a call, lets it wait, or refuses it. */
  dispatch(request: Request): void {
    this.seen(request.client.principal);
    this.queue.admit(request);
  }

  /** Is in the place of others: clients that are here by now are told which lists are other ones. */
  succeed(before: readonly Instance[]): void {
    for (const { lists } of before) this.lists.adopt(lists);
    this.#isSuccessor = true;
    if (this.state === 'ready') void this.#tellWhatChanged();
  }

  /** Timeouts and limits of the server are others now. */
  obey(): void {
    this.queue.resize();
    this.#watchIdle();
  }

  /** Sends a client's notification, if the server runs. */
  notify(message: Buffer): void {
    if (this.state === 'ready') this.#connection?.mux.notify(message);
  }

  /** Sends a request of the gateway itself; undefined if there was no answer. */
  async request(method: string, params: JsonObject): Promise<Frame | undefined> {
    if (this.state !== 'ready') return undefined;
    const isModern = this.identity?.era === 'modern';
    const all = isModern ? { ...params, _meta: this.#ownMeta() } : params;
    return await this.#connection?.mux.request(method, all, OWN_REQUEST_MS);
  }

  /** Requests a page of a list, and remembers the first one as seen by clients. */
  async list(method: string, cursor: string | undefined): Promise<Frame | undefined> {
    const answer = await this.request(method, cursor === undefined ? {} : { cursor });
    if (cursor === undefined && answer !== undefined) this.lists.remember(method, answer);
    return answer;
  }

  /** Ends the server for good. Resolves when no process of it is left. */
  async close(reason: 'server_unavailable' | 'draining' = 'server_unavailable'): Promise<void> {
    this.life.transition('closed');
    this.life.restarts.cancel();
    this.#idleTimer?.cancel();
    this.queue.close(reason);
    this.lists.close();
    this.#connection?.end(reason === 'draining' ? DRAINING : 'stopped');
    this.fanOut.close();
    await this.#givePlaceBack();
  }

  /** Resolves when no process is left. */
  #givePlaceBack(): Promise<unknown> {
    const gone = Promise.all(this.#stopping);
    this.#slot.giveBack(gone);
    return gone;
  }

  #begin(): void {
    try {
      this.takeSlot();
      void this.#run();
    } catch {
      this.queue.refuseWaiting(this.#slot.refusal);
    }
  }

  async #run(): Promise<void> {
    const { life, logger } = this;
    life.transition('starting');
    const { budget, options, metrics } = this.server;
    // An instance never has two processes: the last one must be gone first.
    await Promise.all(this.#stopping);
    await this.#slot.free;
    const turn = await budget.starts.take({ server: options.name, principal: life.principal });
    const startedMs = monotonicMs();
    let connection: Connection | undefined;
    try {
      if (life.state === 'closed') return;
      connection = this.#connect();
      if (options.protocol === 'mcp') {
        life.identity = await handshake(connection.mux, this.#clientIdentity, {
          ...this.#era.begin(connection.program),
          limitMs: options.timeouts.start,
        });
      } else if (connection.pid === undefined) {
        // No process could be started; the channel is about to report why.
        return;
      }
      if (this.#connection !== connection) return;
      const seconds = (monotonicMs() - startedMs) / 1_000;
      metrics.serverStart.observe({ server: options.name }, seconds);
      logger.info({ pid: connection.pid, seconds }, 'server ready');
      this.#onReady();
    } catch (error) {
      if (connection !== undefined) connection.end(messageOf(error));
      else this.#failed(`cannot_start: ${messageOf(error)}`, '', []);
    } finally {
      turn.end(life.state === 'ready');
    }
  }

  #connect(): Connection {
    this.#starts++;
    const connection = new Connection(this);
    this.#connection = connection;
    this.life.mux = connection.mux;
    return connection;
  }

  #onReady(): void {
    const { life, queue } = this;
    this.#era.found(life.identity?.era);
    life.restarts.ready();
    this.lists.introduced(life.identity?.handshakeResult);
    life.lastEnd.forget();
    life.transition('ready');
    this.#replay();
    queue.pump();
    this.#watchIdle();
    this.fanOut.up();
    if (this.#starts > 1 || this.#isSuccessor) void this.#tellWhatChanged();
  }

  /** State that the server must have before the first call. What is written first is read first. */
  #replay(): void {
    const connection = this.#connection;
    const { identity } = this;
    if (connection === undefined || identity === undefined) return;
    this.#upstreamSubscriptions = upstreamSubscriptionsOf(identity, {
      wanted: () => this.fanOut.wanted,
      isWanted: (uri) => this.fanOut.resources.has(uri),
      request: (method, params) => this.request(method, params),
      listen: (params, declared) =>
        connection.listen({ ...params, _meta: this.#ownMeta(declared) }),
    });
    void this.#upstreamSubscriptions.replay(this.fanOut.level);
  }

  #ownMeta(declared: JsonObject = {}): JsonObject {
    return ownEnvelope(this.#clientIdentity, declared);
  }

  async #tellWhatChanged(): Promise<void> {
    const changed = await this.lists.changed((method) => this.request(method, {}));
    for (const { method, message } of changed) this.fanOut.listChanged(method, message);
  }

  ended(connection: Connection, reason: string, again: readonly Request[]): void {
    const stop = connection.stop().finally(() => this.#stopping.delete(stop));
    this.#stopping.add(stop);
    if (this.#connection === connection) {
      this.#connection = undefined;
      this.life.mux = undefined;
    }
    // The next generation has other tasks, perhaps with the same ids.
    if (connection.generation !== '') this.fanOut.tasks.clear();
    if (this.state === 'closed' || reason === 'idle') {
      for (const request of again) this.queue.admit(request);
      return;
    }
    if (this.#era.explains(reason)) {
      this.logger.info({ reason }, 'server exited during the protocol probe');
      this.life.startAgain();
      return;
    }
    this.#failed(reason, connection.lastStderrLine, again);
  }

  /** Waits for the next start. */
  #failed(reason: string, lastStderrLine: string, again: readonly Request[]): void {
    this.#era.failed(reason);
    const { life, queue, server } = this;
    const { restarts } = life;
    const backoffMs = restarts.failed(isLasting(reason));
    life.lastEnd.note(reason, lastStderrLine);
    this.logger.warn(
      { reason, lastWords: lastStderrLine, backoffMs, failsFast: restarts.failFast },
      ENDED,
    );
    server.metrics.serverRestarts.inc({ server: server.options.name, reason: reasonLabel(reason) });
    life.transition(restarts.isDue ? 'backoff' : 'idle');
    if (restarts.failFast) queue.refuseWaiting();
    else queue.refuseLate();
    for (const request of again) queue.admit(request);
  }

  /** Stops the process if it had no call for long. One timer is enough for any number of calls. */
  #watchIdle(): void {
    const { idle: idleMs = 0 } = this.server.options.timeouts;
    this.#idleTimer?.cancel();
    if (idleMs === 0 || this.state !== 'ready') return;
    const leftMs = this.life.usedMs + idleMs - monotonicMs();
    if (leftMs <= 0 && this.isUnused) {
      this.logger.info('server stopped, because it was not used');
      this.stopIdle();
    } else {
      this.#idleTimer = after(leftMs > 0 ? leftMs : idleMs, () => this.#watchIdle());
    }
  }
}
