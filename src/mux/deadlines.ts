// The deadlines of the calls on one connection: looked at by one timer while there are calls, since
// a timer for each call would cost more than the call.
import { every, monotonicMs, type Timer } from '../base/clock.ts';
import type { Call } from './call.ts';
import type { CallTable } from './call-table.ts';
import type { Waiting } from './mux-contract.ts';
import type { ServerRequests } from './server-requests.ts';

/** A pause of the whole program longer than this moves all deadlines (docs/reliability.md#f61). */
const LOOP_GAP_MS = 5_000;
const MIN_PERIOD_MS = 10;
const MAX_PERIOD_MS = 500;

/** What is looked at. */
export interface Watched {
  readonly calls: CallTable;
  /** Told of calls whose client has not answered them while others waited. */
  readonly serverRequests: ServerRequests;
  readonly queue: Waiting;
}

/** Watches deadlines. */
export class Deadlines {
  readonly #watched: Watched;
  readonly #expired: (call: Call) => void;
  readonly #periodMs: number;
  #timer: Timer | undefined;
  #lastLookMs = 0;

  /**
   * @param requestMs how long a call may take; the timer looks more often than that
   * @param expired told when the deadline of a call has passed
   */
  constructor(requestMs: number, watched: Watched, expired: (call: Call) => void) {
    this.#watched = watched;
    this.#expired = expired;
    this.#periodMs = Math.min(Math.max(requestMs / 20, MIN_PERIOD_MS), MAX_PERIOD_MS);
  }

  /** There is a call: begins to look, unless it does already. */
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

  /** Whether the client was asked long ago, and somebody else waits for the answer. */
  #isSlow(
    { abandonedAtMs, openServerRequests, askedAtMs, limitMs, request }: Call,
    nowMs: number,
  ): boolean {
    if (openServerRequests === 0 || abandonedAtMs !== undefined || request === undefined)
      return false;
    return nowMs >= askedAtMs + limitMs && this.#watched.queue.isAwaited(request.client);
  }
}

/**
 * A human being who answers a server request, or a caller who left, is not held to the short limit.
 */
function isOver(call: Call, nowMs: number): boolean {
  const isPatient = call.abandonedAtMs !== undefined || call.openServerRequests > 0;
  return nowMs >= (isPatient ? call.lastDeadlineMs : call.deadlineMs);
}
