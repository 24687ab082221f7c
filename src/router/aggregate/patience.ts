// How long clients wait for one server of an endpoint. All of them share the wait: who comes while a
// server is starting waits for the rest of it, and a server that kept somebody waiting in vain keeps
// nobody else waiting until it was ready once.
import { monotonicMs } from '../../base/clock.ts';
import type { WaitLimits } from '../../catalog/endpoint-options.ts';

/** The waits for one server. */
export class Patience {
  readonly #limits: WaitLimits;
  readonly #isShared: boolean;
  /** When the first client began to wait for a server that is not ready. */
  #sinceMs: number | undefined;
  /** Lists that a server did not give in time. */
  readonly #overdue = new Set<string>();

  /** @param isShared whether all clients wait for the same instances */
  constructor(limits: WaitLimits, isShared: boolean) {
    this.#limits = limits;
    this.#isShared = isShared;
  }

  /** How much longer a client that connects waits for a server that is not ready. */
  toConnect(): number {
    return this.#left(this.#limits.connectTimeout);
  }

  /**
   * How much longer a list is waited for.
   * @param isReady whether the server is ready, so that only the list is waited for
   */
  toList(method: string, isReady: boolean): number {
    const { connectTimeout, listTimeout } = this.#limits;
    if (isReady) return this.#overdue.has(method) ? 0 : listTimeout;
    // A private instance is started for each client, so a list without it would be the rule.
    return this.#left(this.#isShared ? connectTimeout : listTimeout);
  }

  /** How long a call waits for the list of the server that it is for. */
  get toCall(): number {
    return this.#limits.listTimeout;
  }

  /** The server did not give a list in time. One client's own instance says nothing of the others'. */
  late(method: string, isReady: boolean): void {
    if (isReady && this.#isShared) this.#overdue.add(method);
  }

  /** The server is ready, or was: it is waited for again. */
  ready(): void {
    this.#sinceMs = undefined;
  }

  /** The server gave a list. */
  listed(method: string): void {
    this.ready();
    this.#overdue.delete(method);
  }

  #left(limitMs: number): number {
    const nowMs = monotonicMs();
    this.#sinceMs ??= nowMs;
    return Math.max(0, this.#sinceMs + limitMs - nowMs);
  }
}
