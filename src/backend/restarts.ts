// The next start of an instance whose server ended: when it is due, and that it happens.
import { after, monotonicMs, type Timer } from '../base/clock.ts';
import { RestartPolicy } from './restart-policy.ts';

/** Restarts of one instance. */
export class Restarts {
  readonly #policy = new RestartPolicy();
  readonly #start: () => void;
  #timer: Timer | undefined;
  #dueMs = 0;

  /** @param start starts the server again */
  constructor(start: () => void) {
    this.#start = start;
  }

  /** Whether callers are refused at once, since the server keeps failing. */
  get failFast(): boolean {
    return this.#policy.isOpen;
  }

  /** How long until the next start, in milliseconds; 0 while none is due. */
  get dueInMs(): number {
    return this.#timer === undefined ? 0 : Math.max(this.#dueMs - monotonicMs(), 0);
  }

  /** The server is ready. */
  ready(): void {
    this.#policy.ready(monotonicMs());
  }

  /**
   * The server ended, or did not start: the next start is due later.
   * @returns when, in milliseconds from now
   */
  failed(): number {
    const nowMs = monotonicMs();
    const waitMs = this.#policy.failed(nowMs);
    this.cancel();
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
