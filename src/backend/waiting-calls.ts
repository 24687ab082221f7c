// Calls that wait for an instance: bounded in number and time; their bytes count as held for their callers.
// Callers take turns, so that one caller's bulk delays that caller; and when there is no more room, it is
// the one with the most there whose last call has to go. Calls of interactive tools wait until their lane
// is free (docs/protocol.md#attribution).
import { every, monotonicMs, type Timer } from '../base/clock.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Exchange, ExchangeHolder } from '../ports/exchange.ts';
import { isAnonymous } from '../ports/principal.ts';

const SWEEP_MS = 100;

/** Told of calls that left the queue without having been taken. */
export interface WaitingEvents {
  /** It waited too long. */
  expired(exchange: Exchange): void;
  /** It had to make room for another caller. */
  displaced(exchange: Exchange): void;
  /** Some time has passed: some of those that wait may go now. */
  passed(): void;
}

/** The calls of one caller, oldest first. */
class Caller {
  readonly calls: Waiting[] = [];
}

class Waiting implements ExchangeHolder {
  readonly id = undefined;
  readonly exchange: Exchange;
  readonly caller: Caller;
  readonly sinceMs = monotonicMs();
  readonly deadlineMs: number;
  readonly #owner: WaitingCalls;

  constructor(owner: WaitingCalls, exchange: Exchange, caller: Caller, limitMs: number) {
    this.#owner = owner;
    this.exchange = exchange;
    this.caller = caller;
    this.deadlineMs = this.sinceMs + limitMs;
  }

  cancel(_notice: Frame | undefined): void {
    this.#owner.remove(this);
  }
}

/** The queue of one instance. */
export class WaitingCalls {
  readonly #most: number;
  readonly #events: WaitingEvents;
  /** Those who have calls here, whoever's turn it is first. */
  readonly #callers = new Map<string | Downstream, Caller>();
  #size = 0;
  #sweeper: Timer | undefined;

  /** @param most how many calls may wait */
  constructor(most: number, events: WaitingEvents) {
    this.#most = most;
    this.#events = events;
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Adds a call.
   * @param limitMs how long it may wait
   * @returns false when there is no room for it
   */
  add(exchange: Exchange, limitMs: number): boolean {
    const key = callerOf(exchange.client);
    const caller = this.#callers.get(key) ?? new Caller();
    if (!this.#makeRoom(caller)) return false;
    const waiting = new Waiting(this, exchange, caller, limitMs);
    this.#callers.set(key, caller);
    caller.calls.push(waiting);
    this.#size++;
    exchange.holder = waiting;
    this.#sweeper ??= every(SWEEP_MS, () => this.#sweep());
    return true;
  }

  /** Whether any call is such. */
  some(isSuch: (exchange: Exchange) => boolean): boolean {
    for (const { calls } of this.#callers.values()) {
      if (calls.some(({ exchange }) => isSuch(exchange))) return true;
    }
    return false;
  }

  /**
   * Takes out a call that `canGo`: the first such one of whoever's turn it is.
   * @param canGo is told since when the call waits
   */
  take(canGo: (exchange: Exchange, sinceMs: number) => boolean): Exchange | undefined {
    for (const [key, caller] of this.#callers) {
      const waiting = caller.calls.find(({ exchange, sinceMs }) => canGo(exchange, sinceMs));
      if (waiting === undefined) continue;
      this.remove(waiting);
      if (this.#callers.delete(key)) this.#callers.set(key, caller);
      waiting.exchange.holder = undefined;
      return waiting.exchange;
    }
    return undefined;
  }

  /** Takes a call out, if it is here. */
  remove(waiting: Waiting): void {
    const { caller, exchange } = waiting;
    const at = caller.calls.indexOf(waiting);
    if (at < 0) return;
    caller.calls.splice(at, 1);
    this.#size--;
    if (caller.calls.length === 0) this.#callers.delete(callerOf(exchange.client));
    if (this.#size > 0) return;
    this.#sweeper?.cancel();
    this.#sweeper = undefined;
  }

  /**
   * Takes every call out, or those only whose time is over then.
   * @param atMs by the monotonic clock
   */
  clear(atMs = Number.POSITIVE_INFINITY): Exchange[] {
    const over = this.#all().filter(({ deadlineMs }) => deadlineMs <= atMs);
    for (const waiting of over) this.remove(waiting);
    return over.map(({ exchange }) => exchange);
  }

  #all(): Waiting[] {
    return [...this.#callers.values()].flatMap(({ calls }) => calls);
  }

  /** Makes room for one more call of `caller`, at the cost of whoever has more here than it would. */
  #makeRoom(caller: Caller): boolean {
    while (this.#size >= this.#most) {
      const most = this.#largest();
      if (most === undefined || most.calls.length <= caller.calls.length + 1) return false;
      this.#displaceLast(most);
    }
    return true;
  }

  #largest(): Caller | undefined {
    let largest: Caller | undefined;
    for (const caller of this.#callers.values()) {
      if (largest === undefined || caller.calls.length > largest.calls.length) largest = caller;
    }
    return largest;
  }

  #displaceLast({ calls }: Caller): void {
    const last = calls.at(-1);
    if (last === undefined) return;
    this.remove(last);
    this.#events.displaced(last.exchange);
  }

  #sweep(): void {
    for (const exchange of this.clear(monotonicMs())) this.#events.expired(exchange);
    if (this.#size > 0) this.#events.passed();
  }
}

/** Whose call it is. Where everybody is the same principal, each client is a caller of its own. */
function callerOf(client: Downstream): string | Downstream {
  return isAnonymous(client.principal) ? client : client.principal.key;
}
