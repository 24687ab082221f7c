// One live copy of a server: starts it, keeps it running, queues calls while it can't take them,
// and replays what the server must know after a restart. One state, changed in one place.

import { after, monotonicMs, type Timer } from '../base/clock.ts';
import { GatewayError, messageOf } from '../base/errors.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { jsonBytes } from '../jsonrpc/serialize.ts';
import { SET_LEVEL, SUBSCRIBE } from '../mcp/methods.ts';
import type { InteractiveTools } from '../mux/interactive-tools.ts';
import type { Logger } from '../observe/logger.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Traffic } from '../observe/traffic.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Exchange } from '../ports/exchange.ts';
import type { ServerIdentity } from '../ports/seat.ts';
import { Connection } from './connection.ts';
import { FanOut } from './fan-out.ts';
import { handshake, type Introduction } from './handshake.ts';
import { KnownLists } from './known-lists.ts';
import type { ServerOptions } from './options.ts';
import type { ProcessBudget } from './process-budget.ts';
import { RestartPolicy } from './restart-policy.ts';
import type { OpenChannel } from './server-channel.ts';
import { WaitingCalls } from './waiting-calls.ts';

/**
 * idle: no process, the next call starts one. starting: spawn and handshake. ready: serves.
 * backoff: ended, the next start is due later. closed: over for good.
 */
export type InstanceState = 'idle' | 'starting' | 'ready' | 'backoff' | 'closed';

export interface InstanceContext {
  readonly options: ServerOptions;
  readonly isShared: boolean;
  readonly introduction: Introduction;
  readonly budget: ProcessBudget;
  readonly tools: InteractiveTools;
  readonly traffic: Traffic;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly openChannel: OpenChannel;
}

/** How long a question of the gateway's own to a server may take. */
const OWN_REQUEST_MS = 10_000;

/** A server that is kept alive. */
export class Instance {
  readonly fanOut: FanOut;
  readonly #context: InstanceContext;
  readonly #policy = new RestartPolicy();
  readonly #waiting: WaitingCalls;
  readonly #lists: KnownLists;
  #state: InstanceState = 'idle';
  #connection: Connection | undefined;
  #identity: ServerIdentity | undefined;
  #readyWaiters: (() => void)[] = [];
  #lastFailure = 'not started yet';
  #restartTimer: Timer | undefined;
  #idleTimer: Timer | undefined;
  #starts = 0;
  readonly #stopping = new Set<Promise<void>>();

  constructor(context: InstanceContext) {
    this.#context = context;
    const { options, isShared, metrics } = context;
    this.fanOut = new FanOut({
      server: options.name,
      isShared,
      isPlain: options.protocol === 'jsonrpc',
      metrics,
      soleCaller: () => this.#connection?.soleCaller(),
      callers: () => this.#connection?.callers() ?? [],
    });
    this.#lists = new KnownLists();
    this.#waiting = new WaitingCalls(options.limits.queue, (exchange) =>
      this.#waitedTooLong(exchange),
    );
  }

  get state(): InstanceState {
    return this.#state;
  }

  get identity(): ServerIdentity | undefined {
    return this.#identity;
  }

  get isUp(): boolean {
    return this.#state === 'ready' || (this.#state === 'idle' && this.#lastFailure === '');
  }

  get hasProcess(): boolean {
    return this.#connection !== undefined;
  }

  get inFlight(): number {
    return this.#connection?.mux.inFlight ?? 0;
  }

  get queued(): number {
    return this.#waiting.size;
  }

  /** Calls here, at the server or waiting. */
  get load(): number {
    return this.inFlight + this.queued;
  }

  /** Whether a call of an interactive tool by `client` would have to wait. */
  isLaneBusyFor(client: Downstream): boolean {
    return this.#connection?.mux.isLaneBusyFor(client) ?? false;
  }

  /** Starts the server unless it runs, is starting, or has to wait for its backoff. */
  start(): void {
    if (this.#state === 'idle') void this.#run();
  }

  /**
   * Waits until the server has done its first handshake.
   * @throws GatewayError when it can't be started
   */
  async ready(): Promise<void> {
    const { options } = this.#context;
    const endMs = monotonicMs() + options.timeouts.startMs;
    this.start();
    while (this.#state !== 'ready' && monotonicMs() < endMs) {
      if (this.#identity !== undefined && !this.#policy.isOpen) return;
      if (this.#state === 'closed' || this.#policy.isOpen) break;
      await this.#change(endMs - monotonicMs());
    }
    if (this.#state !== 'ready') throw this.#unavailable();
  }

  /** Sends a call on, or lets it wait. */
  dispatch(exchange: Exchange): void {
    const mux = this.#connection?.mux;
    if (this.#state === 'ready' && mux !== undefined && this.#waiting.size === 0) {
      if (this.#canGo(exchange)) {
        mux.dispatch(exchange);
        return;
      }
    }
    this.#wait(exchange);
  }

  /** Sends a client's notification on, if the server runs. */
  notify(message: Buffer): void {
    if (this.#state === 'ready') this.#connection?.mux.notify(message);
  }

  /** Makes a request of the gateway's own; undefined when there was no answer. */
  async request(method: string, params: unknown): Promise<Frame | undefined> {
    if (this.#state !== 'ready') return undefined;
    return await this.#connection?.mux.request(method, params, OWN_REQUEST_MS);
  }

  /** Ends the server for good and resolves when no process of it is left. */
  async close(reason: 'server_unavailable' | 'draining' = 'server_unavailable'): Promise<void> {
    this.#transition('closed');
    this.#restartTimer?.cancel();
    this.#idleTimer?.cancel();
    const { name } = this.#context.options;
    for (const exchange of this.#waiting.clear()) {
      exchange.fail(
        new GatewayError(reason, `Server "${name}" is being stopped.`, {
          outcome: 'not_sent',
          server: name,
        }),
      );
    }
    const connection = this.#connection;
    connection?.end('stopped');
    this.fanOut.close();
    await Promise.all(this.#stopping);
  }

  #transition(state: InstanceState): void {
    if (this.#state === 'closed') return;
    this.#state = state;
    this.#context.logger.debug({ state }, 'instance state');
    const waiters = this.#readyWaiters;
    this.#readyWaiters = [];
    for (const wake of waiters) wake();
  }

  #change(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = after(Math.max(limitMs, 0), resolve);
      this.#readyWaiters.push(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  async #run(): Promise<void> {
    this.#transition('starting');
    const { budget, options, metrics, logger } = this.#context;
    await budget.turnToStart();
    const startedMs = monotonicMs();
    try {
      // There are never two processes of one instance: the last one must be gone first.
      await Promise.all(this.#stopping);
      if ((this.#state as InstanceState) === 'closed') return;
      const connection = this.#connect();
      if (options.protocol === 'mcp') {
        const { introduction } = this.#context;
        this.#identity = await handshake(connection.mux, introduction, options.timeouts.startMs);
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
      this.#connection?.end(messageOf(error));
    } finally {
      budget.started();
    }
  }

  #connect(): Connection {
    const { isShared, options } = this.#context;
    this.#starts++;
    const connection: Connection = new Connection(
      {
        ...this.#context,
        staticRoots: options.roots.length > 0 ? jsonBytes({ roots: options.roots }) : undefined,
        soleClient: () => (isShared ? undefined : this.fanOut.soleClient),
        elicited: (id, client) => this.fanOut.elicited(id, client),
      },
      {
        notified: (notification) => this.fanOut.deliver(notification),
        settled: () => this.#pump(),
        answered: (request, answer) => this.#lists.note(request, answer),
        ended: (reason) => this.#onEnded(connection, reason),
      },
    );
    this.#connection = connection;
    return connection;
  }

  #onReady(): void {
    this.#policy.ready(monotonicMs());
    this.#lastFailure = '';
    this.#transition('ready');
    this.#replay();
    this.#pump();
    this.#watchIdle();
    if (this.#starts > 1) void this.#tellWhatChanged();
  }

  /** What the server must know before the first call: it is written first, so it is read first. */
  #replay(): void {
    const { level, uris } = this.fanOut;
    if (level !== undefined) void this.request(SET_LEVEL, { level });
    for (const uri of uris) void this.request(SUBSCRIBE, { uri });
  }

  async #tellWhatChanged(): Promise<void> {
    const changed = await this.#lists.changed((method) => this.request(method, {}));
    for (const { method, message } of changed) this.fanOut.listChanged(method, message);
  }

  #onEnded(connection: Connection, reason: string): void {
    const stop = connection.stop().finally(() => this.#stopping.delete(stop));
    this.#stopping.add(stop);
    if (this.#connection === connection) this.#connection = undefined;
    if (this.#state === 'closed' || reason === 'idle') return;
    const { logger, metrics, options } = this.#context;
    const backoffMs = this.#policy.failed(monotonicMs());
    this.#lastFailure = describe(reason, connection.lastWords);
    logger.warn(
      { reason, lastWords: connection.lastWords, backoffMs, failsFast: this.#policy.isOpen },
      'server ended, it is started again',
    );
    metrics.serverRestarts.inc({ server: options.name, reason: reasonLabel(reason) });
    this.#transition('backoff');
    if (this.#policy.isOpen) this.#failWaiting();
    this.#restartTimer = after(backoffMs, () => {
      if (this.#state !== 'backoff') return;
      this.#transition('idle');
      this.start();
    });
  }

  #canGo(exchange: Exchange): boolean {
    const mux = this.#connection?.mux;
    const { tools, options } = this.#context;
    if (mux === undefined || !mux.isWritable) return false;
    if (mux.inFlight >= options.limits.inFlight) return false;
    if (!mux.isLaneBusyFor(exchange.client)) return true;
    return tools.match(exchange.frame) === undefined;
  }

  #wait(exchange: Exchange): void {
    const { options, tools } = this.#context;
    if (this.#state === 'closed' || (this.#policy.isOpen && this.#state !== 'ready')) {
      exchange.fail(this.#unavailable());
      return;
    }
    if (
      !this.#waiting.add(exchange, this.#waitLimitMs(tools.match(exchange.frame) !== undefined))
    ) {
      exchange.fail(
        new GatewayError(
          'overloaded',
          `Server "${options.name}" has ${options.limits.queue} calls waiting already; try later.`,
          { outcome: 'not_sent', server: options.name },
        ),
      );
      return;
    }
    this.start();
  }

  // Who waits for another client's question to be answered waits for a human being.
  #waitLimitMs(isInteractive: boolean): number {
    const { queueMs, startMs, requestMs } = this.#context.options.timeouts;
    if (this.#state === 'idle' || this.#state === 'starting') return startMs;
    return this.#state === 'ready' && isInteractive ? requestMs : queueMs;
  }

  #waitedTooLong(exchange: Exchange): void {
    const { options } = this.#context;
    if (this.#state === 'ready') {
      exchange.fail(
        new GatewayError(
          'queue_timeout',
          `Server "${options.name}" was too busy to take the call within its queue limit.`,
          { outcome: 'not_sent', server: options.name },
        ),
      );
      return;
    }
    exchange.fail(
      this.#state === 'starting'
        ? new GatewayError('server_starting', `Server "${options.name}" is still starting.`, {
            outcome: 'not_sent',
            server: options.name,
          })
        : this.#unavailable(),
    );
  }

  /** Sends on what waits, as far as there is room. */
  #pump(): void {
    this.#watchIdle();
    while (this.#waiting.size > 0 && this.#state === 'ready') {
      const exchange = this.#waiting.take((candidate) => this.#canGo(candidate));
      if (exchange === undefined) return;
      this.#connection?.mux.dispatch(exchange);
    }
  }

  #failWaiting(): void {
    for (const exchange of this.#waiting.clear()) exchange.fail(this.#unavailable());
  }

  #unavailable(): GatewayError {
    const { name } = this.#context.options;
    return new GatewayError(
      'server_unavailable',
      `Server "${name}" is not available (${this.#lastFailure}); see the gateway's log.`,
      { outcome: 'not_sent', server: name },
    );
  }

  #watchIdle(): void {
    const { idleMs } = this.#context.options.timeouts;
    if (idleMs === 0 || this.#state !== 'ready') return;
    this.#idleTimer?.cancel();
    this.#idleTimer = after(idleMs, () => {
      if (this.#state !== 'ready' || this.load > 0) return;
      this.#context.logger.info('server stopped, since nobody used it');
      this.#transition('idle');
      this.#connection?.end('idle');
    });
  }
}

function describe(reason: string, lastWords: string): string {
  return lastWords === '' ? reason : `${reason}; it last said: ${lastWords.slice(0, 200)}`;
}

/** A metric label with a bounded set of values. */
function reasonLabel(reason: string): string {
  if (/^(SIG[A-Z0-9]+|exit_\d+|stdin_closed|stdout_closed|protocol_violations)$/.test(reason)) {
    return reason;
  }
  return reason.startsWith('cannot_start') ? 'cannot_start' : 'handshake';
}
