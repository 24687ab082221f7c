// The state of one instance (docs/architecture.md, Life of an instance): its connection, its principal, why
// the last connection ended, and when the next one is due. All parts of the instance read it; only the
// instance changes it.
import { after } from '../base/clock.ts';
import type { Mux } from '../mux/mux.ts';
import type { Logger } from '../observe/logger.ts';
import type { ServerIdentity } from '../ports/lease.ts';
import type { Principal } from '../ports/principal.ts';
import { type EndAudience, LastEnd } from './end-reasons.ts';
import { Restarts } from './restarts.ts';

/**
 * idle: no process, the next call starts one. starting: start and handshake. ready: serves calls. backoff:
 * ended, the next start is due later. closed: ended for good.
 */
export type InstanceState = 'idle' | 'starting' | 'ready' | 'backoff' | 'closed';

/** The life of one instance. */
export class Lifecycle {
  /** Only `transition` changes it. */
  state: InstanceState = 'idle';
  readonly lastEnd: LastEnd;
  readonly restarts: Restarts;
  /** Of the connection; undefined if there is none. */
  mux: Mux | undefined;
  /** What the server last said about itself. */
  identity: ServerIdentity | undefined;
  /**
   * The principal of a private instance, as last seen; they all have equal credentials. Undefined for a
   * shared instance.
   */
  principal: Principal | undefined;
  /** When the last call ended, in monotonic milliseconds. */
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

  /** Starts the server, unless it runs, is starting, or must wait for its backoff. */
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
