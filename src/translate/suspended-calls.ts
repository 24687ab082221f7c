// Calls that wait for their client's next round trip: found by a random id, bounded in number and in
// time (docs/protocol.md#suspended-calls). The only owner of suspended calls.

import { randomBytes } from 'node:crypto';
import { after, type Timer } from '../base/clock.ts';
import { Counts } from '../base/counts.ts';
import type { GatewayError } from '../base/errors.ts';
import { HeldAmount, type HeldBytes, UNBOUNDED } from '../base/held-bytes.ts';
import { FAILURES } from '../mcp/failures.ts';
import { type Principal, quotaKeyOf } from '../ports/principal.ts';

const MAX_SUSPENDED = 10_000;
const MAX_PER_PRINCIPAL = 100;

/** An id that nobody can guess. */
export function unguessableId(): string {
  return randomBytes(16).toString('base64url');
}

/** A call that can be suspended. */
export interface SuspendableCall {
  readonly principal: Principal;
  /** What it costs to keep, in bytes. */
  readonly heldBytes: number;
  /** The client did not come back in time, or may not come back. */
  expired(): void;
  /** There is no room for it to wait: it is over. */
  refused(failure: GatewayError): void;
}

interface SuspendedCall<T> {
  readonly call: T;
  readonly timer: Timer;
  readonly held: HeldAmount;
}

/** Suspended calls. */
export class SuspendedCalls<T extends SuspendableCall> {
  readonly #ttlMs: number;
  readonly #held: HeldBytes;
  readonly #suspendedCalls = new Map<string, SuspendedCall<T>>();
  readonly #perPrincipal = new Counts();

  /**
   * @param ttlMs how long a client may take for one round
   * @param held where suspended calls count
   */
  constructor(ttlMs: number, held: HeldBytes = UNBOUNDED) {
    this.#ttlMs = ttlMs;
    this.#held = held;
  }

  get size(): number {
    return this.#suspendedCalls.size;
  }

  get ttlMs(): number {
    return this.#ttlMs;
  }

  /**
   * Suspends a call, or suspends it for another round.
   * @param id of an earlier round
   * @returns its id, or undefined when there are too many, or no room: then it was told
   */
  suspend(call: T, id: string | undefined): string | undefined {
    if (id !== undefined) this.release(id);
    const { principal } = call;
    const own = this.#perPrincipal.of(quotaKeyOf(principal));
    if (this.#suspendedCalls.size >= MAX_SUSPENDED || own >= MAX_PER_PRINCIPAL) return undefined;
    if (!this.#held.client(principal).hasRoom(call.heldBytes)) {
      call.refused(FAILURES.tooMuchHeld('unknown'));
      return undefined;
    }
    const key = id ?? unguessableId();
    const end = (): void => this.#end(key, call);
    const held = new HeldAmount(() => this.#held.client(principal), 'suspended', end);
    this.#suspendedCalls.set(key, { call, timer: after(this.#ttlMs, end), held });
    this.#perPrincipal.add(quotaKeyOf(principal));
    held.set(call.heldBytes);
    return this.#suspendedCalls.has(key) ? key : undefined;
  }

  /** A suspended call costs more now, or less. */
  resized(id: string): void {
    const suspended = this.#suspendedCalls.get(id);
    suspended?.held.set(suspended.call.heldBytes);
  }

  find(id: string): T | undefined {
    return this.#suspendedCalls.get(id)?.call;
  }

  /** The call goes on, or is over. */
  release(id: string): void {
    const suspended = this.#suspendedCalls.get(id);
    if (suspended === undefined) return;
    suspended.timer.cancel();
    suspended.held.release();
    this.#suspendedCalls.delete(id);
    this.#perPrincipal.remove(quotaKeyOf(suspended.call.principal));
  }

  /** Ends the calls of principals that are not let in any more: nobody will come back to them. */
  endOf(isGone: (principal: Principal) => boolean): void {
    for (const [id, { call }] of [...this.#suspendedCalls])
      if (isGone(call.principal)) this.#end(id, call);
  }

  /** Ends all of them. */
  close(): void {
    for (const [id, { call }] of [...this.#suspendedCalls]) this.#end(id, call);
  }

  #end(id: string, call: T): void {
    this.release(id);
    call.expired();
  }
}
