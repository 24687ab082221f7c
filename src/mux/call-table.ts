// The calls at one connection to a server, by the id that the server knows. Counts what is in
// flight; calls whose caller left stay in the table until the server answers or they are too old,
// since a server may still ask on their behalf (docs/adr/0003).
import type { Downstream } from '../ports/downstream.ts';
import type { Call } from './call.ts';

/** Abandoned calls that are remembered; beyond it the oldest is forgotten. */
const MAX_ABANDONED = 1024;

/** Calls in flight. */
export class CallTable {
  readonly #calls = new Map<number, Call>();
  #abandoned = 0;
  /** Calls of interactive tools whose caller still waits, and whose they are: all one client's. */
  #interactive = 0;
  #laneClient: Downstream | undefined;

  /** Calls whose caller still waits. */
  get inFlight(): number {
    return this.#calls.size - this.#abandoned;
  }

  /** Whether a call of an interactive tool of a client other than `client` is in flight. */
  isLaneBusyFor(client: Downstream): boolean {
    return this.#interactive > 0 && this.#laneClient !== client;
  }

  get size(): number {
    return this.#calls.size;
  }

  open(call: Call): void {
    this.#calls.set(call.id, call);
    if (call.interactiveTool === undefined) return;
    this.#interactive++;
    this.#laneClient = call.exchange?.client;
  }

  find(id: number): Call | undefined {
    return this.#calls.get(id);
  }

  /** Takes a call out, answered or given up for good. */
  settle(call: Call): void {
    if (!this.#calls.delete(call.id)) return;
    if (call.abandonedAtMs !== undefined) this.#abandoned--;
    else if (call.interactiveTool !== undefined) this.#interactive--;
  }

  /** Keeps a call only as somebody who may still be asked for. */
  abandon(call: Call, nowMs: number): void {
    if (!this.#calls.has(call.id) || call.abandonedAtMs !== undefined) return;
    call.abandonedAtMs = nowMs;
    this.#abandoned++;
    if (call.interactiveTool !== undefined) this.#interactive--;
    if (this.#abandoned > MAX_ABANDONED) this.#forgetOldest();
  }

  #forgetOldest(): void {
    for (const call of this.#calls.values()) {
      if (call.abandonedAtMs === undefined) continue;
      this.settle(call);
      return;
    }
  }

  /** All calls, oldest first. */
  all(): IterableIterator<Call> {
    return this.#calls.values();
  }

  /** Takes every call out and returns them. */
  clear(): Call[] {
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    this.#abandoned = 0;
    this.#interactive = 0;
    return calls;
  }
}
