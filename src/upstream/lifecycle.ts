// How far one instance is (docs/architecture.md, Life of an instance), as all of its parts see it: its state, the
// connection that it has, whose it is, why the last connection ended, and when the next one is due. Written by
// the instance alone.
import { after } from '../base/clock.ts';
import type { Mux } from '../mux/mux.ts';
import type { Logger } from '../observe/logger.ts';
import type { ServerIdentity } from '../ports/lease.ts';
import type { Principal } from '../ports/principal.ts';
import { type EndAudience, LastEnd } from './end-reasons.ts';
import { Restarts } from './restarts.ts';

/**
 * idle: no process, the next call starts one. starting: spawn and handshake. ready: serves.
 * backoff: ended, the next start is due later. closed: over for good.
 */
export type InstanceState = 'idle' | 'starting' | 'ready' | 'backoff' | 'closed';

/** The life of one instance. */
export class Lifecycle {
  /** Changed by `transition` only. */
  state: InstanceState = 'idle';
  readonly lastEnd: LastEnd;
  readonly restarts: Restarts;
  /** Of the connection; undefined while there is none. */
  mux: Mux | undefined;
  /** What the server said of itself last. */
  identity: ServerIdentity | undefined;
  /** Whose instance it is, as last seen, all of equal credentials; undefined when everybody shares it. */
  principal: Principal | undefined;
  /** When a call was over last. */
  usedMs = 0;
  readonly #logger: Logger;
  readonly #begin: () => void;
  #waiters: (() => void)[] = [];

  /** @param begin starts the server */
  constructor(server: EndAudience, logger: Logger, begin: () => void) {
    this.#logger = logger;
    this.#begin = begin;
    this.lastEnd = new LastEnd(server);
    this.restarts = new Restarts(() => this.startAgain(), server.isTriedOnDemand === true);
  }

  /** Starts the server unless it runs, is starting, or has to wait for its backoff. */
  start(): void {
    if (this.state !== 'idle') return;
    this.restarts.begin();
    this.#begin();
  }

  startAgain(): void {
    this.transition('idle');
    this.start();
  }

  transition(state: InstanceState): void {
    if (this.state === 'closed') return;
    this.state = state;
    this.#logger.debug({ state }, 'instance state');
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  /** Waits for the next transition, but not longer than `limitMs`. */
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
