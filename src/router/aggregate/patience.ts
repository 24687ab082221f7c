// How long clients wait for one server of an endpoint. The wait is counted once for all clients: a client
// that comes later waits only for the rest. After that, no client waits until the server was ready once.
import { monotonicMs } from '../../base/clock.ts';
import type { WaitLimits } from '../../catalog/endpoint-options.ts';

/** The waits for one server. */
export class Patience {
  readonly #limits: WaitLimits;
  readonly #isShared: boolean;
  /** Since when a client waits for the server to be ready, in monotonic milliseconds. */
  #sinceMs: number | undefined;
  /** Lists that the server did not send in time. */
  readonly #overdue = new Set<string>();

  /** @param isShared whether all clients wait for the same instances */
  constructor(limits: WaitLimits, isShared: boolean) {
    this.#limits = limits;
    this.#isShared = isShared;
  }

  /** How much longer a client that connects waits for the server to be ready, in milliseconds. */
  toConnect(): number {
    return this.#left(this.#limits.connectTimeout);
  }

  /**
   * How much longer a list is waited for, in milliseconds.
   * @param isReady whether the server is ready, so that only its list is missing
   */
  toList(method: string, isReady: boolean): number {
    const { connectTimeout, listTimeout } = this.#limits;
    if (isReady) return this.#overdue.has(method) ? 0 : listTimeout;
    // A private instance is started for each client. Without this wait its entries would be missing every
    // time.
    return this.#left(this.#isShared ? connectTimeout : listTimeout);
  }

  /** How long a call waits for the list of its server, in milliseconds. */
  get toCall(): number {
    return this.#limits.listTimeout;
  }

  /**
   * The server did not send a list in time. A private instance says nothing about other clients' instances.
   */
  late(method: string, isReady: boolean): void {
    if (isReady && this.#isShared) this.#overdue.add(method);
  }

  /** The server is or was ready, so clients wait for it again. */
  ready(): void {
    this.#sinceMs = undefined;
  }

  /** The server sent a list. */
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
