// Calls that wait for an instance: bounded in number and time; their bytes count as held for their callers.
// Callers take turns, large calls several, so that one caller's bulk delays that caller; and when there is no more room, it is
// the one with the most there whose last call has to go. Calls of interactive tools wait until no
// other client has one in flight (docs/protocol.md#attribution).
import { every, monotonicMs, type Timer } from '../base/clock.ts';
import { FairQueue } from '../base/fair-queue.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { type Caller, callerOf } from '../ports/caller.ts';
import type { Canceller, Request } from '../ports/request.ts';

const SWEEP_MS = 100;
/** A caller's call of so many bytes takes one turn, a larger one several: others' small calls go first. */
const TURN_BYTES = 64 * 1024;
/** Turns that one call takes at most. */
const MOST_TURNS = 16;

/** Told of calls that left the queue without having been taken. */
export interface WaitingEvents {
  /** It waited too long. */
  expired(request: Request): void;
  /** It had to make room for another caller. */
  displaced(request: Request): void;
  /** Some time has passed: some of those that wait may go now. */
  passed(): void;
}

class WaitingCall implements Canceller {
  readonly id = undefined;
  readonly request: Request;
  readonly owner: Caller;
  readonly turns: number;
  readonly sinceMs = monotonicMs();
  readonly deadlineMs: number;
  readonly #queue: WaitingCalls;

  constructor(queue: WaitingCalls, request: Request, limitMs: number) {
    this.#queue = queue;
    this.request = request;
    this.owner = callerOf(request.client);
    this.turns = Math.min(1 + Math.floor(request.frame.bytes.length / TURN_BYTES), MOST_TURNS);
    this.deadlineMs = this.sinceMs + limitMs;
  }

  cancel(_notice: Frame | undefined): void {
    this.#queue.remove(this);
  }
}

/** The queue of one instance. */
export class WaitingCalls {
  readonly #events: WaitingEvents;
  readonly #queue: FairQueue<Caller, WaitingCall>;
  #sweeper: Timer | undefined;

  /** @param most how many calls may wait */
  constructor(most: number, events: WaitingEvents) {
    this.#events = events;
    this.#queue = new FairQueue(most, ({ request }) => events.displaced(request));
  }

  get size(): number {
    return this.#queue.size;
  }

  /**
   * Adds a call.
   * @param limitMs how long it may wait
   * @returns false when there is no room for it
   */
  add(request: Request, limitMs: number): boolean {
    const waiting = new WaitingCall(this, request, limitMs);
    if (!this.#queue.add(waiting)) return false;
    request.canceller = waiting;
    this.#sweeper ??= every(SWEEP_MS, () => this.#sweep());
    return true;
  }

  /** Whether any call is such. */
  some(isSuch: (request: Request) => boolean): boolean {
    return this.#queue.some(({ request }) => isSuch(request));
  }

  /**
   * Takes out a call that `canGo`: the first such one of whoever's turn it is.
   * @param canGo is told since when the call waits
   */
  take(canGo: (request: Request, sinceMs: number) => boolean): Request | undefined {
    const waiting = this.#queue.take(({ request, sinceMs }) => canGo(request, sinceMs));
    if (waiting === undefined) return undefined;
    this.#restIfEmpty();
    waiting.request.canceller = undefined;
    return waiting.request;
  }

  /** Takes a call out, if it is here. */
  remove(waiting: WaitingCall): void {
    this.#queue.remove(waiting);
    this.#restIfEmpty();
  }

  /**
   * Takes every call out, or those only whose time is over then.
   * @param atMs by the monotonic clock
   */
  clear(atMs = Number.POSITIVE_INFINITY): Request[] {
    const over = this.#queue.all().filter(({ deadlineMs }) => deadlineMs <= atMs);
    for (const waiting of over) this.remove(waiting);
    return over.map(({ request }) => request);
  }

  #restIfEmpty(): void {
    if (this.size > 0) return;
    this.#sweeper?.cancel();
    this.#sweeper = undefined;
  }

  #sweep(): void {
    for (const request of this.clear(monotonicMs())) this.#events.expired(request);
    if (this.size > 0) this.#events.passed();
  }
}
