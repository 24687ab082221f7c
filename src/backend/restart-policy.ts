// When a server that ended may be started again: backoff with jitter, and a breaker that fails fast
// after too many failures (design.md 5.3). A pure state machine; the caller has the clock.
import { backoffMs } from '../base/backoff.ts';

const BACKOFF = { firstMs: 200, capMs: 30_000 };
const HEALTHY_MS = 60_000;
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
    if (this.#readySinceMs !== undefined && nowMs - this.#readySinceMs >= HEALTHY_MS) {
      this.#failures = 0;
      this.#recent = [];
    }
    this.#readySinceMs = undefined;
    this.#failures++;
    this.#recent = this.#recent.filter((atMs) => nowMs - atMs < WINDOW_MS);
    this.#recent.push(nowMs);
    if (this.#recent.length >= FAILURES_TO_OPEN) this.#isOpen = true;
    return backoffMs(this.#failures, BACKOFF);
  }
}
