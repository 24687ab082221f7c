// Calls that wait for an instance: bounded in number and time; their bytes count as held for their callers.
// Callers take turns, large calls several, so that one caller's bulk delays that caller; and when there is no more room, it is
// the one with the most there whose last call has to go. Calls of interactive tools wait until their lane
// is free (docs/protocol.md#attribution).
import { every, monotonicMs, type Timer } from '../base/clock.ts';
import { FairQueue } from '../base/fair-queue.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { type Caller, callerOf } from '../ports/caller.ts';
import type { Exchange, ExchangeHolder } from '../ports/exchange.ts';

const SWEEP_MS = 100;
/** A caller's call of so many bytes takes one turn, a larger one several: others' small calls go first. */
const TURN_BYTES = 64 * 1024;
/** Turns that one call takes at most. */
const MOST_TURNS = 16;

/** Told of calls that left the queue without having been taken. */
export interface WaitingEvents {
  /** It waited too long. */
  expired(exchange: Exchange): void;
  /** It had to make room for another caller. */
  displaced(exchange: Exchange): void;
  /** Some time has passed: some of those that wait may go now. */
  passed(): void;
}

class Waiting implements ExchangeHolder {
  readonly id = undefined;
  readonly exchange: Exchange;
  readonly owner: Caller;
  readonly turns: number;
  readonly sinceMs = monotonicMs();
  readonly deadlineMs: number;
  readonly #queue: WaitingCalls;

  constructor(queue: WaitingCalls, exchange: Exchange, limitMs: number) {
    this.#queue = queue;
    this.exchange = exchange;
    this.owner = callerOf(exchange.client);
    this.turns = Math.min(1 + Math.floor(exchange.frame.bytes.length / TURN_BYTES), MOST_TURNS);
    this.deadlineMs = this.sinceMs + limitMs;
  }

  cancel(_notice: Frame | undefined): void {
    this.#queue.remove(this);
  }
}

/** The queue of one instance. */
export class WaitingCalls {
  readonly #events: WaitingEvents;
  readonly #queue: FairQueue<Caller, Waiting>;
  #sweeper: Timer | undefined;

  /** @param most how many calls may wait */
  constructor(most: number, events: WaitingEvents) {
    this.#events = events;
    this.#queue = new FairQueue(most, ({ exchange }) => events.displaced(exchange));
  }

  get size(): number {
    return this.#queue.size;
  }

  /**
   * Adds a call.
   * @param limitMs how long it may wait
   * @returns false when there is no room for it
   */
  add(exchange: Exchange, limitMs: number): boolean {
    const waiting = new Waiting(this, exchange, limitMs);
    if (!this.#queue.add(waiting)) return false;
    exchange.holder = waiting;
    this.#sweeper ??= every(SWEEP_MS, () => this.#sweep());
    return true;
  }

  /** Whether any call is such. */
  some(isSuch: (exchange: Exchange) => boolean): boolean {
    return this.#queue.some(({ exchange }) => isSuch(exchange));
  }

  /**
   * Takes out a call that `canGo`: the first such one of whoever's turn it is.
   * @param canGo is told since when the call waits
   */
  take(canGo: (exchange: Exchange, sinceMs: number) => boolean): Exchange | undefined {
    const waiting = this.#queue.take(({ exchange, sinceMs }) => canGo(exchange, sinceMs));
    if (waiting === undefined) return undefined;
    this.#restIfEmpty();
    waiting.exchange.holder = undefined;
    return waiting.exchange;
  }

  /** Takes a call out, if it is here. */
  remove(waiting: Waiting): void {
    this.#queue.remove(waiting);
    this.#restIfEmpty();
  }

  /**
   * Takes every call out, or those only whose time is over then.
   * @param atMs by the monotonic clock
   */
  clear(atMs = Number.POSITIVE_INFINITY): Exchange[] {
    const over = this.#queue.all().filter(({ deadlineMs }) => deadlineMs <= atMs);
    for (const waiting of over) this.remove(waiting);
    return over.map(({ exchange }) => exchange);
  }

  #restIfEmpty(): void {
    if (this.size > 0) return;
    this.#sweeper?.cancel();
    this.#sweeper = undefined;
  }

  #sweep(): void {
    for (const exchange of this.clear(monotonicMs())) this.#events.expired(exchange);
    if (this.size > 0) this.#events.passed();
  }
}
