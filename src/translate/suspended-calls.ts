// Calls that wait for their client's next round. They are found by a random id, and limited in number and
// time (docs/protocol.md#suspended-calls).

import { randomBytes } from 'node:crypto';
import { after, type Timer } from '../base/clock.ts';
import { Counts } from '../base/counts.ts';
import type { GatewayError } from '../base/errors.ts';
import { HeldAmount, type HeldBytes, UNBOUNDED } from '../base/held-bytes.ts';
import { FAILURES } from '../mcp/failures.ts';
import { type Principal, quotaKeyOf } from '../ports/principal.ts';

const MAX_SUSPENDED = 10_000;
const MAX_PER_PRINCIPAL = 100;

/** A random id that can't be guessed. */
export function unguessableId(): string {
  return randomBytes(16).toString('base64url');
}

/** A call that can be suspended. */
export interface SuspendableCall {
  readonly principal: Principal;
  /** The bytes that it takes. */
  readonly heldBytes: number;
  /** The client did not return in time, or is no longer accepted. */
  expired(): void;
  /** There is no room for it to wait, so it ends. */
  refused(failure: GatewayError): void;
}

interface SuspendedCall<T> {
  readonly call: T;
  readonly timer: Timer;
  readonly held: HeldAmount;
}

/** The suspended calls. */
export class SuspendedCalls<T extends SuspendableCall> {
  readonly #ttlMs: number;
  readonly #held: HeldBytes;
  readonly #suspendedCalls = new Map<string, SuspendedCall<T>>();
  readonly #perPrincipal = new Counts();

  /**
   * @param ttlMs how long a client may take for one round, in milliseconds
   * @param held counts the bytes of suspended calls
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
   * Suspends a call, or suspends it again for another round.
   * @param id of an earlier round
   * @returns its id; undefined if there are too many calls or no room: then `refused` was called
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

  /** The bytes of a suspended call have changed. */
  resized(id: string): void {
    const suspended = this.#suspendedCalls.get(id);
    suspended?.held.set(suspended.call.heldBytes);
  }

  find(id: string): T | undefined {
    return this.#suspendedCalls.get(id)?.call;
  }

  /** The call continues, or is over. */
  release(id: string): void {
    const suspended = this.#suspendedCalls.get(id);
    if (suspended === undefined) return;
    suspended.timer.cancel();
    suspended.held.release();
    this.#suspendedCalls.delete(id);
    this.#perPrincipal.remove(quotaKeyOf(suspended.call.principal));
  }

  /** Ends the calls of principals that are no longer accepted, because they can't return. */
  endOf(isGone: (principal: Principal) => boolean): void {
    for (const [id, { call }] of [...this.#suspendedCalls])
      if (isGone(call.principal)) this.#end(id, call);
  }

  /** Ends all calls. */
  close(): void {
    for (const [id, { call }] of [...this.#suspendedCalls]) this.#end(id, call);
  }

  #end(id: string, call: T): void {
    this.release(id);
    call.expired();
  }
}
