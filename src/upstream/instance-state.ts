// The states of an instance (docs/architecture.md, Life of an instance), and who waits for the next.
import { after } from '../base/clock.ts';

/**
 * idle: no process, the next call starts one. starting: spawn and handshake. ready: serves.
 * backoff: ended, the next start is due later. closed: over for good.
 */
export type InstanceState = 'idle' | 'starting' | 'ready' | 'backoff' | 'closed';

/** Those who wait for an instance to be in another state. */
export class StateWaiters {
  #waiters: (() => void)[] = [];

  /** The state is another one. */
  wake(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  /** Waits for the next change, but not longer than `limitMs`. */
  next(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = after(Math.max(limitMs, 0), resolve);
      this.#waiters.push(() => {
        timer.cancel();
        resolve();
      });
    });
  }
}
