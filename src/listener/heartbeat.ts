// The one timer of all open responses: turns answers that take long into streams, and keeps streams
// alive. A timer for each request would cost more than the request.
import { every, monotonicMs, type Timer } from '../base/clock.ts';
import type { SseWriter } from './sse-writer.ts';

const TICK_MS = 250;
/** An answer that takes longer becomes a stream, so that proxies see life (design.md 4.3). */
const SLOW_MS = 1_000;
/** Well below the 15 s that clients and proxies are promised. */
const KEEP_ALIVE_MS = 10_000;

/** A response that has not begun. */
export interface PendingResponse {
  readonly sinceMs: number;
  /** Begins it as a stream. */
  beginStream(): void;
}

/** All responses that are waited for. */
export class Heartbeat {
  readonly #pending = new Set<PendingResponse>();
  readonly #writers = new Map<SseWriter, string>();
  readonly #timer: Timer;
  #lastKeepAliveMs = monotonicMs();

  constructor() {
    this.#timer = every(TICK_MS, () => this.#tick());
  }

  /** Open streams by transport. */
  counts(): Record<string, number> {
    const counts: Record<string, number> = { 'streamable-http': 0, sse: 0 };
    for (const transport of this.#writers.values()) {
      counts[transport] = (counts[transport] ?? 0) + 1;
    }
    return counts;
  }

  expect(response: PendingResponse): void {
    this.#pending.add(response);
  }

  forget(response: PendingResponse): void {
    this.#pending.delete(response);
  }

  opened(writer: SseWriter, transport: string): void {
    this.#writers.set(writer, transport);
  }

  closed(writer: SseWriter): void {
    this.#writers.delete(writer);
  }

  close(): void {
    this.#timer.cancel();
  }

  #tick(): void {
    const nowMs = monotonicMs();
    for (const response of this.#pending) {
      // Responses are in the order they came, so the first young one ends it.
      if (nowMs - response.sinceMs < SLOW_MS) break;
      this.#pending.delete(response);
      response.beginStream();
    }
    if (nowMs - this.#lastKeepAliveMs < KEEP_ALIVE_MS) return;
    this.#lastKeepAliveMs = nowMs;
    for (const writer of this.#writers.keys()) writer.keepAlive(nowMs);
  }
}
