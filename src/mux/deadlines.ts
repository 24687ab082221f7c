// The deadlines of the calls on one connection. One timer checks them while there are calls; a timer for each
// call would cost more than the call.
import { every, monotonicMs, type Timer } from '../base/clock.ts';
import type { Call } from './call.ts';
import type { CallTable } from './call-table.ts';
import type { Waiting } from './mux-contract.ts';
import type { ServerRequests } from './server-requests.ts';

/** If the whole program was paused for longer than this, all deadlines move (docs/reliability.md#f61). */
const LOOP_GAP_MS = 5_000;
const MIN_PERIOD_MS = 10;
const MAX_PERIOD_MS = 500;

/** What is checked. */
export interface Watched {
  readonly calls: CallTable;
  /** Withdraws server requests that a client has not answered while others wait. */
  readonly serverRequests: ServerRequests;
  readonly queue: Waiting;
}

/** Checks deadlines. */
export class Deadlines {
  readonly #watched: Watched;
  readonly #expired: (call: Call) => void;
  readonly #periodMs: number;
  #timer: Timer | undefined;
  #lastLookMs = 0;

  /**
   * @param requestMs the limit of calls; the timer runs more often than that
   * @param expired called when the deadline of a call has passed
   */
  constructor(requestMs: number, watched: Watched, expired: (call: Call) => void) {
    this.#watched = watched;
    this.#expired = expired;
    this.#periodMs = Math.min(Math.max(requestMs / 20, MIN_PERIOD_MS), MAX_PERIOD_MS);
  }

  /** Starts the timer, if it does not run. Called for each call. */
  watch(): void {
    if (this.#timer !== undefined) return;
    this.#lastLookMs = monotonicMs();
    this.#timer = every(this.#periodMs, () => this.#look());
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #look(): void {
    const nowMs = monotonicMs();
    const gapMs = nowMs - this.#lastLookMs - this.#periodMs;
    this.#lastLookMs = nowMs;
    const { calls, serverRequests, queue } = this.#watched;
    if (calls.size === 0) {
      this.stop();
      return;
    }
    const shiftMs = gapMs > LOOP_GAP_MS ? gapMs : 0;
    let hasExpired = false;
    for (const call of calls.all()) {
      call.deadlineMs += shiftMs;
      call.askedAtMs += shiftMs;
      if (this.#isSlow(call, nowMs)) serverRequests.unanswered(call);
      if (!isOver(call, nowMs)) continue;
      hasExpired = true;
      this.#expired(call);
    }
    if (hasExpired) queue.pump();
  }

  /** Whether the client has not answered for long, and another client waits for that. */
  #isSlow(
    { abandonedAtMs, openServerRequests, askedAtMs, limitMs, request }: Call,
    nowMs: number,
  ): boolean {
    if (openServerRequests === 0 || abandonedAtMs !== undefined || request === undefined)
      return false;
    return nowMs >= askedAtMs + limitMs && this.#watched.queue.isAwaited(request.client);
  }
}

/** While a person answers, or when the caller has left, only the last deadline counts. */
function isOver(call: Call, nowMs: number): boolean {
  const isPatient = call.abandonedAtMs !== undefined || call.openServerRequests > 0;
  return nowMs >= (isPatient ? call.lastDeadlineMs : call.deadlineMs);
}
