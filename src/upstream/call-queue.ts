// The calls of one instance: decides whether a call is sent now, waits, or is refused, and with which error
// (docs/protocol.md#attribution). Waiting calls are limited in number and time; their bytes count as held for
// their callers. Callers take turns, and a large call needs several, so that one caller's load delays only
// that caller. If the queue is full, the caller with the most calls loses its newest one.

import { every, monotonicMs, type Timer } from '../base/clock.ts';
import type { GatewayError } from '../base/errors.ts';
import { FairQueue } from '../base/fair-queue.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { FAILURES } from '../mcp/failures.ts';
import type { Waiting } from '../mux/mux-contract.ts';
import type { Downstream } from '../ports/downstream.ts';
import { isAnonymous, quotaKeyOf } from '../ports/principal.ts';
import { type QueueOwner, queueOwnerOf } from '../ports/queue-owner.ts';
import type { Canceller, Request } from '../ports/request.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { ServerContext } from './server-context.ts';

/**
 * How long a call of a tool waits for server requests of others if the tool was only suspected, and did not
 * ask in earlier calls. With the time of a sweep this is about a second.
 */
const SUSPECT_MS = 800;
const SWEEP_MS = 100;
/** A call of up to this size takes one turn, a larger one several, so that small calls of others go first. */
const TURN_BYTES = 64 * 1024;
/** The most turns of one call. */
const MOST_TURNS = 16;

class WaitingCall implements Canceller {
  readonly id = undefined;
  readonly request: Request;
  readonly owner: QueueOwner;
  readonly turns: number;
  readonly sinceMs = monotonicMs();
  readonly deadlineMs: number;
  readonly #queue: CallQueue;

  constructor(queue: CallQueue, request: Request, limitMs: number) {
    this.#queue = queue;
    this.request = request;
    this.owner = queueOwnerOf(request.client);
    this.turns = Math.min(1 + Math.floor(request.frame.bytes.length / TURN_BYTES), MOST_TURNS);
    this.deadlineMs = this.sinceMs + limitMs;
  }

  cancel(_notice: Frame | undefined): void {
    this.#queue.remove(this);
  }
}

/** The queue of one instance. */
export class CallQueue implements Waiting {
  readonly #server: ServerContext;
  readonly #life: Lifecycle;
  readonly #waiting: FairQueue<QueueOwner, WaitingCall>;
  #sweeper: Timer | undefined;
  #closedBecause: 'server_unavailable' | 'draining' = 'server_unavailable';

  constructor(server: ServerContext, life: Lifecycle) {
    this.#server = server;
    this.#life = life;
    const { queue } = server.options.limits;
    this.#waiting = new FairQueue(queue, ({ request }) => request.settle(this.#overloaded()));
  }

  /** The number of waiting calls. */
  get queued(): number {
    return this.#waiting.size;
  }

  /** The limits of the server are others now. */
  resize(): void {
    this.#waiting.most = this.#server.options.limits.queue;
    this.pump();
  }

  isAwaited(client: Downstream): boolean {
    const { tools } = this.#server;
    return this.#waiting.some(
      ({ request }) => request.client !== client && tools.match(request.frame) !== undefined,
    );
  }

  /** Sends a call, or lets it wait. */
  admit(request: Request): void {
    const isFree = this.#waiting.size === 0 && this.#hasRoom();
    if (isFree && this.#canGo(request, this.#overQuota())) {
      this.#life.mux?.dispatch(request);
      return;
    }
    this.#wait(request);
    // Earlier calls may wait for something that this one does not need.
    this.pump();
  }

  /** Sends waiting calls, as far as there is room. */
  pump(): void {
    this.#life.usedMs = monotonicMs();
    while (this.#waiting.size > 0 && this.#hasRoom()) {
      const overQuota = this.#overQuota();
      const waiting = this.#waiting.take(({ request, sinceMs }) =>
        this.#canGo(request, overQuota, sinceMs),
      );
      if (waiting === undefined) return;
      this.#restIfEmpty();
      const { request } = waiting;
      request.canceller = undefined;
      this.#life.mux?.dispatch(request);
    }
  }

  /** Removes a call, if it is here. */
  remove(waiting: WaitingCall): void {
    this.#waiting.remove(waiting);
    this.#restIfEmpty();
  }

  /** Refuses all waiting calls. */
  refuseWaiting(failure = this.unavailable()): void {
    for (const request of this.#takeOut()) request.settle(failure);
  }

  /** The server will be started again after its backoff: refuses calls that can't wait so long. */
  refuseLate(): void {
    const failure = this.unavailable();
    const startMs = monotonicMs() + this.#life.restarts.dueInMs;
    for (const request of this.#takeOut(startMs)) request.settle(failure);
  }

  /** Refuses all waiting calls, because the server is stopped. */
  close(reason: 'server_unavailable' | 'draining'): void {
    this.#closedBecause = reason;
    this.refuseWaiting(this.stopped());
  }

  /** The error if the server is being stopped. */
  stopped(): GatewayError {
    return FAILURES.beingStopped(this.#name, this.#closedBecause);
  }

  /** The error if a call waited too long for the start of the server. */
  starting(): GatewayError {
    return FAILURES.starting(this.#name);
  }

  /** The error if the server is not running. */
  unavailable(): GatewayError {
    const failure = this.#life.lastEnd.publicReason;
    // A label for metrics with a whole sentence: the log would not say more.
    const said = /^(?:cannot_start|refused): (it .*)$/s.exec(failure)?.[1];
    if (said !== undefined) return FAILURES.unavailable(this.#name, `is not available: ${said}`);
    const why = failure.replace(/^cannot_start: |\.$/g, '');
    return FAILURES.unavailable(this.#name, `is not available (${why}); see the gateway's log.`);
  }

  /**
   * The quota key of the principal that has reached its share of calls in flight, if any. There can be only
   * one, and it is not computed while there is room for all. Without auth all clients are one principal.
   */
  #overQuota(): string | undefined {
    const { mux } = this.#life;
    if (mux === undefined || mux.inFlight < this.#share) return undefined;
    const counts = new Map<string, number>();
    for (const { request, abandonedAtMs } of mux.calls()) {
      if (request === undefined || abandonedAtMs !== undefined) continue;
      const { principal } = request.client;
      if (isAnonymous(principal)) return undefined;
      const key = quotaKeyOf(principal);
      const count = (counts.get(key) ?? 0) + 1;
      if (count >= this.#share) return key;
      counts.set(key, count);
    }
    return undefined;
  }

  /** The most calls of one principal at a shared server, so that there is room for others. */
  get #share(): number {
    const { sharing, limits } = this.#server.options;
    const { inFlight } = limits;
    return sharing === 'shared' ? inFlight - Math.floor(inFlight / 4) : Number.POSITIVE_INFINITY;
  }

  /** Whether the server accepts any call. */
  #hasRoom(): boolean {
    const { mux, state } = this.#life;
    if (mux === undefined || state !== 'ready') return false;
    return mux.isWritable && mux.inFlight < this.#server.options.limits.inFlight;
  }

  /**
   * @param overQuota the principal that has reached its share of calls in flight
   * @param sinceMs since when the call waits, in monotonic milliseconds; absent: it does not wait yet
   */
  #canGo(request: Request, overQuota: string | undefined, sinceMs?: number): boolean {
    const { tools } = this.#server;
    if (overQuota !== undefined && quotaKeyOf(request.client.principal) === overQuota) return false;
    if (this.#life.mux?.hasInteractiveCallOfOthers(request.client) !== true) return true;
    const tool = tools.match(request.frame);
    if (tool === undefined) return true;
    const hasWaited = sinceMs !== undefined && monotonicMs() - sinceMs >= SUSPECT_MS;
    return hasWaited && tools.isHardlySuspected(tool);
  }

  #wait(request: Request): void {
    const { state, restarts } = this.#life;
    if (state === 'closed') {
      request.settle(this.stopped());
      return;
    }
    const limitMs = this.#waitLimitMs(request);
    const isHopeless = restarts.failFast || restarts.dueInMs >= limitMs;
    if (isHopeless && state !== 'ready') {
      request.settle(this.unavailable());
      return;
    }
    const waiting = new WaitingCall(this, request, limitMs);
    if (!this.#waiting.add(waiting)) {
      request.settle(this.#overloaded());
      return;
    }
    request.canceller = waiting;
    this.#sweeper ??= every(SWEEP_MS, () => this.#sweep());
    this.#life.start();
  }

  /**
   * Removes and returns all calls, or only those whose time is over.
   * @param atMs monotonic
   */
  #takeOut(atMs = Number.POSITIVE_INFINITY): Request[] {
    const over = this.#waiting.all().filter(({ deadlineMs }) => deadlineMs <= atMs);
    for (const waiting of over) this.remove(waiting);
    return over.map(({ request }) => request);
  }

  #restIfEmpty(): void {
    if (this.#waiting.size > 0) return;
    this.#sweeper?.cancel();
    this.#sweeper = undefined;
  }

  #sweep(): void {
    for (const request of this.#takeOut(monotonicMs())) this.#waitedTooLong(request);
    // Some of the waiting calls may be sent now.
    if (this.#waiting.size > 0) this.pump();
  }

  #overloaded(): GatewayError {
    return FAILURES.queueFull(this.#name, this.#server.options.limits.queue);
  }

  // A call that waits for another client's server request waits for a person, who has the time of a call for
  // the answer, and then for that call to end.
  #waitLimitMs(request: Request): number {
    const { options, tools } = this.#server;
    const { timeouts } = options;
    const { state } = this.#life;
    if (state === 'idle' || state === 'starting') return timeouts.start;
    const isForPerson = state === 'ready' && tools.match(request.frame) !== undefined;
    return isForPerson ? Math.min(2 * timeouts.request, timeouts.requestMax) : timeouts.queue;
  }

  #waitedTooLong(request: Request): void {
    switch (this.#life.state) {
      case 'ready':
        request.settle(FAILURES.waitedTooLong(this.#name, this.#whyItWaited(request)));
        return;
      case 'starting':
        request.settle(this.starting());
        return;
      default:
        request.settle(this.unavailable());
    }
  }

  #whyItWaited({ frame, client }: Request): string {
    const { mux } = this.#life;
    const tool = this.#server.tools.match(frame);
    if (tool !== undefined && mux?.hasInteractiveCallOfOthers(client) === true) {
      return (
        `could not take the call: tool "${tool}" is interactive, and another client is using an ` +
        'interactive tool, maybe waiting for its user to answer. ' +
        'Retry later, or set sharing: session for this server.'
      );
    }
    if (mux?.isWritable === false) {
      return 'was too busy to read the call within timeouts.queue: it has not read earlier messages. Retry later.';
    }
    const overQuota = this.#overQuota();
    if (overQuota !== undefined && quotaKeyOf(client.principal) === overQuota) {
      return `already has ${this.#share} calls of yours in flight, the limit for one client. Retry when one of them completes.`;
    }
    return 'was too busy to take the call within timeouts.queue. Retry later, or raise replicas or limits.inFlight.';
  }

  get #name(): string {
    return this.#server.options.name;
  }
}
