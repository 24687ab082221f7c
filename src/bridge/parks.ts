// Calls that wait for their client's next round trip: found by a random id, bounded in number and in
// time (docs/protocol.md#suspended-calls). The only owner of parked calls.
import { randomBytes } from 'node:crypto';
import { after, type Timer } from '../base/clock.ts';
import type { Principal } from '../ports/principal.ts';

const MAX_PARKS = 10_000;
const MAX_PER_PRINCIPAL = 100;

/** An id that nobody can guess. */
export function unguessableId(): string {
  return randomBytes(16).toString('base64url');
}

/** A call that can be parked. */
export interface Parkable {
  readonly principal: Principal;
  /** The client did not come back in time, or may not come back. */
  expired(): void;
}

interface Park<T> {
  readonly call: T;
  readonly timer: Timer;
}

/** Parked calls. */
export class Parks<T extends Parkable> {
  readonly #ttlMs: number;
  readonly #parks = new Map<string, Park<T>>();
  readonly #perPrincipal = new Map<string, number>();

  /**
   * @param ttlMs how long a client may take for one round
   */
  constructor(ttlMs: number) {
    this.#ttlMs = ttlMs;
  }

  get size(): number {
    return this.#parks.size;
  }

  get ttlMs(): number {
    return this.#ttlMs;
  }

  /**
   * Parks a call, or parks it for another round.
   * @param id of an earlier round
   * @returns its id, or undefined when there are too many
   */
  park(call: T, id: string | undefined): string | undefined {
    if (id !== undefined) this.release(id);
    const { principal } = call;
    const own = this.#perPrincipal.get(principal.key) ?? 0;
    if (this.#parks.size >= MAX_PARKS || own >= MAX_PER_PRINCIPAL) return undefined;
    const key = id ?? unguessableId();
    const timer = after(this.#ttlMs, () => this.#end(key, call));
    this.#parks.set(key, { call, timer });
    this.#perPrincipal.set(principal.key, own + 1);
    return key;
  }

  find(id: string): T | undefined {
    return this.#parks.get(id)?.call;
  }

  /** The call goes on, or is over. */
  release(id: string): void {
    const park = this.#parks.get(id);
    if (park === undefined) return;
    park.timer.cancel();
    this.#parks.delete(id);
    const { key } = park.call.principal;
    const own = this.#perPrincipal.get(key) ?? 0;
    if (own <= 1) this.#perPrincipal.delete(key);
    else this.#perPrincipal.set(key, own - 1);
  }

  /** Ends the calls of principals that are not let in any more: nobody will come back to them. */
  endOf(isGone: (principal: Principal) => boolean): void {
    for (const [id, { call }] of [...this.#parks]) if (isGone(call.principal)) this.#end(id, call);
  }

  /** Ends all of them. */
  close(): void {
    for (const [id, { call }] of [...this.#parks]) this.#end(id, call);
  }

  #end(id: string, call: T): void {
    this.release(id);
    call.expired();
  }
}
