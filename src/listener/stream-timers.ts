// One timer for all open responses: turns slow answers into event streams, and keeps streams alive. A timer
// for each request would cost more than the request.
import { every, monotonicMs, type Timer } from '../base/clock.ts';
import type { Principal } from '../ports/principal.ts';
import type { OpenStream, OpenStreams } from './open-streams.ts';
import type { SseWriter } from './sse-writer.ts';
import { Unacknowledged } from './unacknowledged.ts';

const TICK_MS = 250;
/** A slower answer becomes a stream, so that proxies see activity. */
const SLOW_MS = 1_000;
/** Well below the 15 s that clients and proxies rely on. */
const KEEP_ALIVE_MS = 10_000;

/** A response that has not begun. */
export interface PendingResponse {
  readonly sinceMs: number;
  /** Starts an event stream for it. */
  beginStream(): void;
}

/** How often the credentials of open streams are checked, because credentials expire without an event. */
const SWEEP_MS = 1_000;

interface TimedStream {
  readonly transport: string;
  readonly openStream: OpenStream;
}

/** All pending responses and open streams. */
export class StreamTimers {
  readonly #openStreams: OpenStreams;
  readonly #sweep: () => void;
  readonly #pending = new Set<PendingResponse>();
  readonly #writers = new Map<SseWriter, TimedStream>();
  readonly #timer: Timer;
  readonly #unacknowledged = new Unacknowledged();
  #isLooking = false;
  #lastKeepAliveMs = monotonicMs();
  #lastSweepMs = monotonicMs();

  /**
   * @param sweep ends what belongs to clients that would no longer be accepted; called about once a second
   */
  constructor(openStreams: OpenStreams, sweep: () => void) {
    this.#openStreams = openStreams;
    this.#sweep = sweep;
    this.#timer = every(TICK_MS, () => this.#tick());
  }

  /** The number of open streams, by transport. */
  counts(): Record<string, number> {
    const counts: Record<string, number> = { 'streamable-http': 0, sse: 0 };
    for (const { transport } of this.#writers.values()) {
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

  opened(writer: SseWriter, transport: string, principal: Principal): void {
    const openStream: OpenStream = { principal, end: () => writer.end() };
    this.#writers.set(writer, { transport, openStream });
    this.#openStreams.take(openStream);
  }

  closed(writer: SseWriter): void {
    const stream = this.#writers.get(writer);
    this.#writers.delete(writer);
    if (stream !== undefined) this.#openStreams.release(stream.openStream);
  }

  close(): void {
    this.#timer.cancel();
  }

  #tick(): void {
    const nowMs = monotonicMs();
    for (const response of this.#pending) {
      // Responses are ordered by age, so the first young one ends the loop.
      if (nowMs - response.sinceMs < SLOW_MS) break;
      this.#pending.delete(response);
      response.beginStream();
    }
    if (nowMs - this.#lastSweepMs >= SWEEP_MS) {
      this.#lastSweepMs = nowMs;
      this.#sweep();
    }
    if (nowMs - this.#lastKeepAliveMs < KEEP_ALIVE_MS) return;
    this.#lastKeepAliveMs = nowMs;
    if (this.#writers.size > 0 && !this.#isLooking) void this.#keepAlive();
  }

  async #keepAlive(): Promise<void> {
    this.#isLooking = true;
    await this.#unacknowledged.look();
    this.#isLooking = false;
    const nowMs = monotonicMs();
    for (const writer of [...this.#writers.keys()]) {
      const { socket } = writer;
      writer.keepAlive(nowMs, socket === null ? 0 : this.#unacknowledged.of(socket));
    }
  }
}
