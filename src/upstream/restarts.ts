// When a server that ended is started again: at once after it served for a while, else after a backoff with
// jitter; a breaker fails fast after too many failures (docs/architecture.md#life-of-an-instance).
import { backoffMs } from '../base/backoff.ts';
import { after, monotonicMs, type Timer } from '../base/clock.ts';

const BACKOFF = { firstMs: 200, capMs: 30_000 };
/** A server that was ready for so long can be started: why it ended has nothing to do with that. */
const HEALTHY_MS = 10_000;
const WINDOW_MS = 60_000;
const FAILURES_TO_OPEN = 5;

/** When one instance may be started again. A pure state machine: the caller has the clock. */
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

/** The next start of one instance: when it is due, and that it happens. */
export class Restarts {
  readonly #policy = new RestartPolicy();
  readonly #start: () => void;
  readonly #isOnDemand: boolean;
  #timer: Timer | undefined;
  #dueMs = 0;
  #isHopeless = false;

  /**
   * @param start starts the server again
   * @param isOnDemand whether a server that refuses the gateway is not started by itself
   */
  constructor(start: () => void, isOnDemand: boolean) {
    this.#start = start;
    this.#isOnDemand = isOnDemand;
  }

  /** Whether callers are refused at once, since the server keeps failing. */
  get failFast(): boolean {
    return this.#policy.isOpen || this.#isHopeless;
  }

  /** How long until the next start, in milliseconds; 0 while none is due. */
  get dueInMs(): number {
    return this.#timer === undefined ? 0 : Math.max(this.#dueMs - monotonicMs(), 0);
  }

  /** Whether the server is started again by itself. */
  get isDue(): boolean {
    return this.#timer !== undefined;
  }

  /** The server is started. */
  begin(): void {
    if (this.#isOnDemand) this.#isHopeless = false;
  }

  /** The server is ready. */
  ready(): void {
    this.#isHopeless = false;
    this.#policy.ready(monotonicMs());
  }

  /**
   * The server ended, or did not start: the next start is due later.
   * @param isHopeless whether that is the same next time: nobody is to wait for it
   * @returns when, in milliseconds from now; undefined: when somebody asks for it
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

  /** No start is due any more. */
  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}

/** How often a server was started that has never been ready, in all of its instances: for a gateway that is of no use without it. */
export class FirstStarts {
  readonly #tries: number;
  readonly #gaveUp: (why: string) => void;
  #failures = 0;
  #wasReady = false;

  /** @param gaveUp told once, when that many starts have failed, how the last one did */
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
