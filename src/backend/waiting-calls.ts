// Calls that wait for an instance: bounded in number and in time, first come first served, except
// that calls of interactive tools wait in a lane of their own until it is free (design.md 5.2, 5.4).
import { every, monotonicMs, type Timer } from '../base/clock.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import type { Exchange, ExchangeHolder } from '../ports/exchange.ts';

const SWEEP_MS = 100;

/** Told when a call waited too long. */
export type Expired = (exchange: Exchange) => void;

class Waiting implements ExchangeHolder {
  readonly id = undefined;
  readonly exchange: Exchange;
  readonly deadlineMs: number;
  readonly #owner: WaitingCalls;

  constructor(owner: WaitingCalls, exchange: Exchange, deadlineMs: number) {
    this.#owner = owner;
    this.exchange = exchange;
    this.deadlineMs = deadlineMs;
  }

  cancel(_notice: Frame | undefined): void {
    this.#owner.remove(this);
  }
}

/** The queue of one instance. */
export class WaitingCalls {
  readonly #max: number;
  readonly #expired: Expired;
  #calls: Waiting[] = [];
  #sweeper: Timer | undefined;

  constructor(max: number, expired: Expired) {
    this.#max = max;
    this.#expired = expired;
  }

  get size(): number {
    return this.#calls.length;
  }

  /**
   * Adds a call.
   * @param limitMs how long it may wait
   * @returns false when the queue is full
   */
  add(exchange: Exchange, limitMs: number): boolean {
    if (this.#calls.length >= this.#max) return false;
    const waiting = new Waiting(this, exchange, monotonicMs() + limitMs);
    exchange.holder = waiting;
    this.#calls.push(waiting);
    this.#sweeper ??= every(SWEEP_MS, () => this.#sweep());
    return true;
  }

  /** Whether any call is such. */
  some(isSuch: (exchange: Exchange) => boolean): boolean {
    return this.#calls.some(({ exchange }) => isSuch(exchange));
  }

  /** Takes out the first call that `canGo`. */
  take(canGo: (exchange: Exchange) => boolean): Exchange | undefined {
    const at = this.#calls.findIndex((waiting) => canGo(waiting.exchange));
    const [waiting] = at < 0 ? [] : this.#calls.splice(at, 1);
    if (waiting !== undefined) waiting.exchange.holder = undefined;
    this.#rest();
    return waiting?.exchange;
  }

  remove(waiting: Waiting): void {
    const at = this.#calls.indexOf(waiting);
    if (at >= 0) this.#calls.splice(at, 1);
    this.#rest();
  }

  /** Takes every call out. */
  clear(): Exchange[] {
    const exchanges = this.#calls.map((waiting) => waiting.exchange);
    this.#calls = [];
    this.#rest();
    return exchanges;
  }

  #sweep(): void {
    const nowMs = monotonicMs();
    const over = this.#calls.filter((waiting) => waiting.deadlineMs <= nowMs);
    if (over.length === 0) return;
    this.#calls = this.#calls.filter((waiting) => waiting.deadlineMs > nowMs);
    this.#rest();
    for (const waiting of over) this.#expired(waiting.exchange);
  }

  #rest(): void {
    if (this.#calls.length > 0) return;
    this.#sweeper?.cancel();
    this.#sweeper = undefined;
  }
}
