// The deadlines of the calls on one connection: looked at by one timer while there are calls, since
// a timer for each call would cost more than the call.
import { every, monotonicMs, type Timer } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Call } from './call.ts';

/** A pause of the whole program longer than this moves all deadlines (docs/reliability.md#f61). */
const LOOP_GAP_MS = 5_000;
const MIN_PERIOD_MS = 10;
const MAX_PERIOD_MS = 500;

/** What a call fails with that has no answer in time. */
export function lateAnswer(server: string, limitMs: number): GatewayError {
  const text = `Server "${server}" did not answer within ${limitMs} ms; it was told to cancel.`;
  return new GatewayError('server_timeout', text, { outcome: 'unknown', server });
}

export interface DeadlinesContext {
  /** How long a call may take; the timer looks more often than that. */
  readonly requestMs: number;
  calls(): Iterable<Call>;
  isEmpty(): boolean;
  /** Whether calls of other clients wait until this client has answered. */
  isAwaited(client: Downstream): boolean;
  /** The client has not answered the server requests of a call while others waited. */
  unanswered(call: Call): void;
  /** The deadline of a call has passed. */
  expired(call: Call): void;
  /** After a look in which calls expired. */
  swept(): void;
}

/** Watches deadlines. */
export class Deadlines {
  readonly #context: DeadlinesContext;
  readonly #periodMs: number;
  #timer: Timer | undefined;
  #lastLookMs = 0;

  constructor(context: DeadlinesContext) {
    this.#context = context;
    this.#periodMs = Math.min(Math.max(context.requestMs / 20, MIN_PERIOD_MS), MAX_PERIOD_MS);
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
    if (this.#context.isEmpty()) {
      this.stop();
      return;
    }
    const shiftMs = gapMs > LOOP_GAP_MS ? gapMs : 0;
    let hasExpired = false;
    for (const call of this.#context.calls()) {
      call.deadlineMs += shiftMs;
      call.askedAtMs += shiftMs;
      if (this.#isSlow(call, nowMs)) this.#context.unanswered(call);
      if (!isOver(call, nowMs)) continue;
      hasExpired = true;
      this.#context.expired(call);
    }
    if (hasExpired) this.#context.swept();
  }

  /** Whether the client was asked long ago, and somebody else waits for the answer. */
  #isSlow(
    { abandonedAtMs, openServerRequests, askedAtMs, limitMs, request }: Call,
    nowMs: number,
  ): boolean {
    if (openServerRequests === 0 || abandonedAtMs !== undefined || request === undefined)
      return false;
    return nowMs >= askedAtMs + limitMs && this.#context.isAwaited(request.client);
  }
}

/**
 * A human being who answers a server request, or a caller who left, is not held to the short limit.
 */
function isOver(call: Call, nowMs: number): boolean {
  const isPatient = call.abandonedAtMs !== undefined || call.openServerRequests > 0;
  return nowMs >= (isPatient ? call.lastDeadlineMs : call.deadlineMs);
}
