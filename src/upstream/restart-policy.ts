// When a server that ended may be started again: at once after it served for a while, else after a
// backoff with jitter; and a breaker that fails fast after too many failures
// (docs/architecture.md#life-of-an-instance). A pure state machine; the caller has the clock.
import { backoffMs } from '../base/backoff.ts';

const BACKOFF = { firstMs: 200, capMs: 30_000 };
/** A server that was ready for so long can be started: why it ended has nothing to do with that. */
const HEALTHY_MS = 10_000;
const WINDOW_MS = 60_000;
const FAILURES_TO_OPEN = 5;

/** Restarts of one instance. */
export class RestartPolicy {
  #failures = 0;
  #recent: number[] = [];
  #readySinceMs: number | undefined;
  #isOpen = false;

  /** True while callers are refused at once and only one start at a time is tried. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The handshake is done. */
  ready(nowMs: number): void {
    this.#readySinceMs = nowMs;
    this.#isOpen = false;
  }

  /**
   * The server ended, or did not start.
   * @returns milliseconds until the next start
   */
  failed(nowMs: number): number {
    const wasHealthy = this.#readySinceMs !== undefined && nowMs - this.#readySinceMs >= HEALTHY_MS;
    this.#readySinceMs = undefined;
    if (wasHealthy) {
      this.#failures = 0;
      this.#recent = [];
      return 0;
    }
    this.#failures++;
    this.#recent = this.#recent.filter((atMs) => nowMs - atMs < WINDOW_MS);
    this.#recent.push(nowMs);
    if (this.#recent.length >= FAILURES_TO_OPEN) this.#isOpen = true;
    return backoffMs(this.#failures, BACKOFF);
  }
}
