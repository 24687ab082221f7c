// The next start of an instance whose server ended: when it is due, and that it happens.
import { after, monotonicMs, type Timer } from '../base/clock.ts';
import { RestartPolicy } from './restart-policy.ts';

/** Restarts of one instance. */
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
