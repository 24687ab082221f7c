// When a server that ended is started again: at once if it was ready for a while, otherwise after a backoff
// with jitter. After too many failures, calls fail fast (docs/architecture.md#life-of-an-instance).
import { backoffMs } from '../base/backoff.ts';
import { after, monotonicMs, type Timer } from '../base/clock.ts';

const BACKOFF = { firstMs: 200, capMs: 30_000 };
/** A server that was ready for so long can be started, so its end is not counted as a failed start. */
const HEALTHY_MS = 10_000;
const WINDOW_MS = 60_000;
const FAILURES_TO_OPEN = 5;

/** When one instance may be started again. It has no clock of its own. */
export class RestartPolicy {
  #failures = 0;
  #recent: number[] = [];
  #readySinceMs: number | undefined;
  #isOpen = false;

  /** True while calls fail at once, and only one start at a time is tried. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The handshake is done. */
  ready(nowMs: number): void {
    this.#readySinceMs = nowMs;
    this.#isOpen = false;
  }

  /**
   * The server ended, or could not be started.
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

/** The next start of one instance, with its timer. */
export class Restarts {
  readonly #policy = new RestartPolicy();
  readonly #start: () => void;
  readonly #isOnDemand: boolean;
  #timer: Timer | undefined;
  #dueMs = 0;
  #isHopeless = false;

  /**
   * @param start starts the server again
   * @param isOnDemand whether a server that refuses the gateway is started again only for a call
   */
  constructor(start: () => void, isOnDemand: boolean) {
    this.#start = start;
    this.#isOnDemand = isOnDemand;
  }

  /** Whether calls fail at once, because the server keeps failing. */
  get failFast(): boolean {
    return this.#policy.isOpen || this.#isHopeless;
  }

  /** The time until the next start, in milliseconds; 0 if none is due. */
  get dueInMs(): number {
    return this.#timer === undefined ? 0 : Math.max(this.#dueMs - monotonicMs(), 0);
  }

  /** Whether a start is due. */
  get isDue(): boolean {
    return this.#timer !== undefined;
  }

  /** The server is being started. */
  begin(): void {
    if (this.#isOnDemand) this.#isHopeless = false;
  }

  /** The server is ready. */
  ready(): void {
    this.#isHopeless = false;
    this.#policy.ready(monotonicMs());
  }

  /**
   * The server ended, or could not be started. Schedules the next start.
   * @param isHopeless whether the next start will fail in the same way, so that no call should wait for it
   * @returns milliseconds until then; undefined: only for a call
   */
  failed(isHopeless: boolean): number | undefined {
    const nowMs = monotonicMs();
    const waitMs = this.#policy.failed(nowMs);
    this.cancel();
    this.#isHopeless = isHopeless;
    if (isHopeless && this.#isOnDemand) return undefined;
    this.#dueMs = nowMs + waitMs;
    this.#timer = after(waitMs, () => {
      this.#timer = undefined;
      this.#start();
    });
    return waitMs;
  }

  /** Cancels the next start. */
  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}

/**
 * Counts failed starts of a server that was never ready, over all its instances, for a gateway that is
 * useless without it.
 */
export class FirstStarts {
  readonly #tries: number;
  readonly #gaveUp: (why: string) => void;
  #failures = 0;
  #wasReady = false;

  /** @param gaveUp called once after that many failed starts, with the reason of the last one */
  constructor(tries: number, gaveUp: (why: string) => void) {
    this.#tries = tries;
    this.#gaveUp = gaveUp;
  }

  ready(): void {
    this.#wasReady = true;
  }

  failed(why: string): void {
    if (this.#wasReady || ++this.#failures !== this.#tries) return;
    this.#gaveUp(why);
  }
}
