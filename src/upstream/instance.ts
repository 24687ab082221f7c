// One live copy of a server: starts it, keeps it running, queues calls while it can't take them,
// and replays what the server must know after a restart. One state, changed in one place.

import { after, monotonicMs, type Timer } from '../base/clock.ts';
import { type GatewayError, messageOf } from '../base/errors.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import type { JsonObject } from '../jsonrpc/parse.ts';
import { jsonBytes } from '../jsonrpc/serialize.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { ServerIdentity } from '../ports/lease.ts';
import type { Principal } from '../ports/principal.ts';
import type { Caller, Request } from '../ports/request.ts';
import { Admission } from './admission.ts';
import { Connection } from './connection.ts';
import { DRAINING, isLasting, LastEnd, reasonLabel } from './end-reasons.ts';
import { EraSearch } from './era-search.ts';
import { FanOut } from './fan-out.ts';
import { handshake, ownEnvelope } from './handshake.ts';
import type { InstanceContext } from './instance-context.ts';
import { type InstanceState, StateWaiters } from './instance-state.ts';
import { KnownLists } from './known-lists.ts';
import { ListKeys } from './list-keys.ts';
import { ProcessSlotHolder } from './process-slot.ts';
import { Restarts } from './restarts.ts';
import { type UpstreamSubscriptions, upstreamSubscriptionsOf } from './upstream-subscriptions.ts';

/** How long a request of the gateway's own to a server may take. */
const OWN_REQUEST_MS = 10_000;
const ENDED = 'server ended, it is started again';

/** A server that is kept alive. */
export class Instance {
  readonly fanOut: FanOut;
  readonly lastEnd: LastEnd;
  readonly #context: InstanceContext;
  readonly #restarts: Restarts;
  readonly #admission: Admission;
  readonly #lists: KnownLists;
  #state: InstanceState = 'idle';
  #connection: Connection | undefined;
  #identity: ServerIdentity | undefined;
  readonly #waiters = new StateWaiters();
  readonly #slot: ProcessSlotHolder;
  #idleTimer: Timer | undefined;
  #upstreamSubscriptions: UpstreamSubscriptions | undefined;
  readonly #era: EraSearch;
  #starts = 0;
  readonly listKeys = new ListKeys();
  readonly #stopping = new Set<Promise<void>>();
  #principal: Principal | undefined;

  constructor(context: InstanceContext) {
    this.#context = context;
    this.#lists = new KnownLists(context.owner);
    const { options, isShared, metrics } = context;
    this.fanOut = new FanOut({
      server: options.name,
      isShared,
      isPlain: options.protocol === 'jsonrpc',
      metrics,
      logsOnDemand: () => this.#identity?.era === 'modern',
      soleCaller: (mayBeFor) => this.#connection?.soleCaller(mayBeFor),
      callers: () => this.#connection?.callers() ?? [],
      heldFor: (principal) => context.held?.client(principal),
    });
    this.#restarts = new Restarts(() => this.#startAgain(), context.isTriedOnDemand === true);
    this.#era = new EraSearch(options, context.era);
    this.#slot = new ProcessSlotHolder(context.takeSlot);
    this.lastEnd = new LastEnd(context);
    this.#admission = new Admission({
      options,
      tools: context.tools,
      state: () => this.#state,
      mux: () => this.#connection?.mux,
      failsFast: () => this.#restarts.failFast,
      lastFailure: () => this.lastEnd.publicReason,
      startsInMs: () => this.#restarts.dueInMs,
      start: () => this.start(),
    });
  }

  get state(): InstanceState {
    return this.#state;
  }

  get identity(): ServerIdentity | undefined {
    return this.#identity;
  }

  /** What the server is told for all clients; undefined while it does not run. */
  get upstreamSubscriptions(): UpstreamSubscriptions | undefined {
    return this.#state === 'ready' ? this.#upstreamSubscriptions : undefined;
  }

  get isUp(): boolean {
    return this.#state === 'ready' || (this.#state === 'idle' && this.lastEnd.text === undefined);
  }

  get hasProcess(): boolean {
    return this.#connection !== undefined;
  }

  /** Which generation of the server runs; empty while none does, or where all are one. */
  get generation(): string {
    return this.#connection?.generation ?? '';
  }

  get inFlight(): number {
    return this.#connection?.mux.inFlight ?? 0;
  }

  get queued(): number {
    return this.#admission.queued;
  }

  /** Calls here, at the server, waiting, or gone on as tasks. */
  get load(): number {
    return this.inFlight + this.queued + (this.#connection?.mux.tasks.size ?? 0);
  }

  /** Whether a call of an interactive tool by `client` would have to wait. */
  hasInteractiveCallOfOthers(client: Downstream): boolean {
    return this.#connection?.mux.hasInteractiveCallOfOthers(client) ?? false;
  }

  /** Whether nothing is on here that a process is needed for: it could be stopped. */
  get isUnused(): boolean {
    // Who watches a resource uses the server too.
    return this.#state !== 'starting' && this.load === 0 && !this.fanOut.isWatched;
  }

  /**
   * Takes the slot of its process, if that is not its own yet.
   * @throws GatewayError when there is none
   */
  takeSlot(): void {
    this.#slot.take();
  }

  /** Why the server can't be used now; undefined while it can. */
  get unavailableReason(): GatewayError | undefined {
    if (this.#state === 'ready') return undefined;
    if (this.#state === 'idle') return this.#slot.refusal;
    return this.#state === 'starting' ? this.#admission.starting() : this.#admission.unavailable();
  }

  /** Starts the server unless it runs, is starting, or has to wait for its backoff. */
  start(): void {
    if (this.#state !== 'idle') return;
    this.#restarts.begin();
    try {
      this.takeSlot();
      void this.#run();
    } catch {
      this.#admission.refuseWaiting(this.#slot.refusal);
    }
  }

  /** Stops the process, which the next call starts again. */
  stopIdle(): void {
    if (this.#state === 'starting' || this.#state === 'closed') return;
    this.#restarts.cancel();
    this.#transition('idle');
    this.#connection?.end('idle');
    void this.#givePlaceBack();
  }

  /**
   * Waits until the server has done its first handshake.
   * @throws GatewayError when it can't be started
   */
  async ready(): Promise<void> {
    if (this.#identity === undefined || this.#restarts.failFast) await this.running();
    else this.start();
  }

  /**
   * Waits until the server runs.
   * @throws GatewayError when it can't be started
   */
  async running(): Promise<void> {
    const { options } = this.#context;
    const endMs = monotonicMs() + options.timeouts.start;
    if (this.#state === 'idle') this.takeSlot();
    this.start();
    while (this.#state !== 'ready' && monotonicMs() < endMs) {
      if (this.#state === 'closed' || this.#restarts.failFast) break;
      if (this.#restarts.dueInMs > endMs - monotonicMs()) break;
      await this.#waiters.next(endMs - monotonicMs());
    }
    if (this.#state === 'closed') throw this.#admission.stopped();
    if (this.#state === 'starting') throw this.#admission.starting();
    if (this.#state !== 'ready') throw this.#admission.unavailable();
  }

  /** Who has it to himself is here, maybe with newer credentials. */
  seen(principal: Principal): void {
    if (!this.#context.isShared) this.#principal = principal;
  }

  /** Sends a call on, lets it wait, or refuses it. */
  dispatch(request: Request): void {
    this.seen(request.client.principal);
    this.#admission.admit(request);
  }

  /** Sends a client's notification on, if the server runs. */
  notify(message: Buffer): void {
    if (this.#state === 'ready') this.#connection?.mux.notify(message);
  }

  /** Makes a request of the gateway's own; undefined when there was no answer. */
  async request(method: string, params: JsonObject): Promise<Frame | undefined> {
    if (this.#state !== 'ready') return undefined;
    const isModern = this.#identity?.era === 'modern';
    const all = isModern ? { ...params, _meta: this.#ownMeta() } : params;
    return await this.#connection?.mux.request(method, all, OWN_REQUEST_MS);
  }

  /** Gets a page of a list, and remembers the first one as what clients know. */
  async list(method: string, cursor: string | undefined): Promise<Frame | undefined> {
    const answer = await this.request(method, cursor === undefined ? {} : { cursor });
    if (cursor === undefined && answer !== undefined) this.#lists.remember(method, answer);
    return answer;
  }

  /** Ends the server for good and resolves when no process of it is left. */
  async close(reason: 'server_unavailable' | 'draining' = 'server_unavailable'): Promise<void> {
    this.#transition('closed');
    this.#restarts.cancel();
    this.#idleTimer?.cancel();
    this.#admission.close(reason);
    this.#lists.close();
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

  #transition(state: InstanceState): void {
    if (this.#state === 'closed') return;
    this.#state = state;
    this.#context.logger.debug({ state }, 'instance state');
    this.#waiters.wake();
  }

  async #run(): Promise<void> {
    this.#transition('starting');
    const { budget, options, metrics, logger } = this.#context;
    // There are never two processes of one instance: the last one must be gone first.
    await Promise.all(this.#stopping);
    await this.#slot.free;
    const turn = await budget.starts.take({ server: options.name, principal: this.#principal });
    const startedMs = monotonicMs();
    let connection: Connection | undefined;
    try {
      if ((this.#state as InstanceState) === 'closed') return;
      connection = this.#connect();
      if (options.protocol === 'mcp') {
        const { clientIdentity } = this.#context;
        this.#identity = await handshake(connection.mux, clientIdentity, {
          ...this.#era.begin(connection.program),
          limitMs: options.timeouts.start,
        });
      } else if (connection.pid === undefined) {
        // No process could be started; the channel is about to say why.
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
      turn.end((this.#state as InstanceState) === 'ready');
    }
  }

  #connect(): Connection {
    const { isShared, options } = this.#context;
    this.#starts++;
    const connection: Connection = new Connection(
      {
        ...this.#context,
        staticRoots: options.roots.length > 0 ? jsonBytes({ roots: options.roots }) : undefined,
        principal: () => this.#principal,
        soleClient: () => (isShared ? undefined : this.fanOut.soleClient),
        audience: this.fanOut,
      },
      {
        notified: (notification, about) => this.#onNotification(connection, notification, about),
        settled: () => this.#pump(),
        isAwaited: (client) => this.#admission.isAwaited(client),
        answered: (request, answer) => this.#lists.note(request, answer),
        ended: (reason, again) => this.#onEnded(connection, reason, again),
      },
    );
    this.#connection = connection;
    return connection;
  }

  #onNotification(connection: Connection, notification: Frame, about?: Caller): void {
    const told = connection.received(notification);
    if (told === undefined) return;
    this.listKeys.noticed(told.method);
    this.fanOut.deliver(told, about);
  }

  #onReady(): void {
    this.#era.found(this.#identity?.era);
    this.#restarts.ready();
    this.#lists.introduced(this.#identity?.handshakeResult);
    this.lastEnd.forget();
    this.listKeys.renew();
    this.#transition('ready');
    this.#replay();
    this.#pump();
    this.#watchIdle();
    this.fanOut.up();
    if (this.#starts > 1) void this.#tellWhatChanged();
  }

  /** What the server must know before the first call: it is written first, so it is read first. */
  #replay(): void {
    const connection = this.#connection;
    if (connection === undefined || this.#identity === undefined) return;
    this.#upstreamSubscriptions = upstreamSubscriptionsOf(this.#identity, {
      wanted: () => this.fanOut.wanted,
      isWanted: (uri) => this.fanOut.resources.has(uri),
      request: (method, params) => this.request(method, params),
      listen: (params, declared) =>
        connection.listen({ ...params, _meta: this.#ownMeta(declared) }),
    });
    void this.#upstreamSubscriptions.replay(this.fanOut.level);
  }

  #ownMeta(declared: JsonObject = {}): JsonObject {
    return ownEnvelope(this.#context.clientIdentity, declared);
  }

  async #tellWhatChanged(): Promise<void> {
    const changed = await this.#lists.changed((method) => this.request(method, {}));
    for (const { method, message } of changed) this.fanOut.listChanged(method, message);
  }

  #onEnded(connection: Connection, reason: string, again: readonly Request[]): void {
    const stop = connection.stop().finally(() => this.#stopping.delete(stop));
    this.#stopping.add(stop);
    if (this.#connection === connection) this.#connection = undefined;
    // The next generation has other tasks, maybe with the same ids.
    if (connection.generation !== '') this.fanOut.tasks.clear();
    const isOver = this.#state === 'closed' || reason === 'idle';
    if (isOver) for (const request of again) this.#admission.admit(request);
    if (isOver) return;
    if (this.#era.explains(reason)) {
      this.#context.logger.info({ reason }, 'server exited during the protocol probe');
      this.#startAgain();
      return;
    }
    this.#failed(reason, connection.lastStderrLine, again);
  }

  #startAgain(): void {
    this.#transition('idle');
    this.start();
  }

  /** Lets the next start wait. */
  #failed(reason: string, lastStderrLine: string, again: readonly Request[]): void {
    this.#era.failed(reason);
    const { logger, metrics, options } = this.#context;
    const backoffMs = this.#restarts.failed(isLasting(reason));
    this.lastEnd.note(reason, lastStderrLine);
    logger.warn(
      { reason, lastWords: lastStderrLine, backoffMs, failsFast: this.#restarts.failFast },
      ENDED,
    );
    metrics.serverRestarts.inc({ server: options.name, reason: reasonLabel(reason) });
    this.#transition(this.#restarts.isDue ? 'backoff' : 'idle');
    if (this.#restarts.failFast) this.#admission.refuseWaiting();
    else this.#admission.refuseLate();
    for (const request of again) this.#admission.admit(request);
  }

  #pump(): void {
    this.#watchIdle();
    this.#admission.pump();
  }

  #watchIdle(): void {
    const { idle: idleMs = 0 } = this.#context.options.timeouts;
    if (idleMs === 0 || this.#state !== 'ready') return;
    this.#idleTimer?.cancel();
    this.#idleTimer = after(idleMs, () => {
      if (this.#state !== 'ready' || !this.isUnused) return;
      this.#context.logger.info('server stopped, since nobody used it');
      this.stopIdle();
    });
  }
}
