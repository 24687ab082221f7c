// Limits the processes of all servers: how many private ones there may be, and which one is evicted if there
// are too many (docs/configuration.md#serversname).

import { monotonicMs } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import { FAILURES } from '../mcp/failures.ts';
import type { ProcessOptions } from './options.ts';
import { StartTurns } from './start-turns.ts';

/** The owner of a slot for a private process. */
export interface SlotOwner {
  /** Of its principal. */
  readonly quotaKey: string;
  readonly server: string;
  /**
   * Since when nobody seems to need the process, in monotonic milliseconds; in the future if it is too early
   * to tell. Undefined while somebody needs it.
   */
  readonly idleSinceMs: number | undefined;
  /** Stops the process because another client needs the slot, and gives the slot back. */
  evict(): void;
}

/** A slot for one private process. Taken before it starts, given back when it is told to end. */
export class ProcessSlot {
  readonly owner: SlotOwner;
  /** Resolves when the process may start: the process that had the slot before is gone. */
  readonly free: Promise<unknown>;
  readonly #budget: ProcessBudget;
  /** Resolves when its process is gone; undefined until it was told to end. */
  gone: Promise<unknown> | undefined;

  constructor(budget: ProcessBudget, owner: SlotOwner, free: Promise<unknown>) {
    this.#budget = budget;
    this.owner = owner;
    this.free = free;
  }

  /** @param gone resolves when the process is gone */
  giveBack(gone: Promise<unknown>): void {
    if (this.gone !== undefined) return;
    this.gone = gone;
    void gone.finally(() => this.#budget.forget(this));
  }
}

/** Counts private processes. */
export class ProcessBudget {
  #options: ProcessOptions;
  readonly #slots = new Set<ProcessSlot>();
  readonly starts: StartTurns;

  constructor(options: ProcessOptions) {
    this.#options = options;
    this.starts = new StartTurns(options.maxStarting);
  }

  /** From now on there are other caps. Processes beyond them stay until they end. */
  obey(options: ProcessOptions): void {
    this.#options = options;
    this.starts.obey(options.maxStarting);
  }

  /** The number of private processes. */
  get total(): number {
    return this.#slots.size;
  }

  /**
   * Takes a slot for a private process. If none is free, the process that was idle for longest is evicted.
   * @throws GatewayError `overloaded` if no process of the principal, or of all, is idle
   */
  take(owner: SlotOwner): ProcessSlot {
    const { max, maxPerPrincipal } = this.#options;
    const all = [...this.#slots];
    const own = all.filter((slot) => slot.owner.quotaKey === owner.quotaKey);
    let free: Promise<unknown> | undefined = Promise.resolve();
    if (own.length >= maxPerPrincipal) {
      free = this.#room(own);
      if (free === undefined) throw FAILURES.noProcess(owner.server, ofOneUser(maxPerPrincipal));
    } else if (all.length >= max) {
      free = this.#room(own) ?? this.#room(all);
      if (free === undefined)
        throw FAILURES.noProcess(owner.server, `${max} in all (processes.max)`);
    }
    const slot = new ProcessSlot(this, owner, free);
    this.#slots.add(slot);
    return slot;
  }

  /** The process of a slot is gone. */
  forget(slot: ProcessSlot): void {
    this.#slots.delete(slot);
  }

  /** Frees one of some slots; undefined if none is idle. */
  #room(slots: readonly ProcessSlot[]): Promise<unknown> | undefined {
    const room = slots.find(({ gone }) => gone !== undefined) ?? longestIdle(slots);
    if (room === undefined) return undefined;
    if (room.gone === undefined) room.owner.evict();
    this.#slots.delete(room);
    return room.gone;
  }
}

/** The slot of an instance's process, or why it has none. */
export class ProcessSlotHolder {
  readonly #budget: ProcessBudget;
  readonly #owner: SlotOwner | undefined;
  #slot: ProcessSlot | undefined;
  #refusal: GatewayError | undefined;

  /** @param owner undefined if it needs no slot */
  constructor(budget: ProcessBudget, owner: SlotOwner | undefined) {
    this.#budget = budget;
    this.#owner = owner;
  }

  /** Why there was no slot at the last attempt. */
  get refusal(): GatewayError | undefined {
    return this.#refusal;
  }

  /** Resolves when the process that had the slot before is gone. */
  get free(): Promise<unknown> | undefined {
    return this.#slot?.free;
  }

  /**
   * Takes a slot, if it has none.
   * @throws GatewayError if there is none
   */
  take(): void {
    try {
      this.#slot ??= this.#owner && this.#budget.take(this.#owner);
      this.#refusal = undefined;
    } catch (error) {
      if (error instanceof GatewayError) this.#refusal = error;
      throw error;
    }
  }

  /** @param gone resolves when the process is gone */
  giveBack(gone: Promise<unknown>): void {
    this.#slot?.giveBack(gone);
    this.#slot = undefined;
  }
}

function longestIdle(slots: readonly ProcessSlot[]): ProcessSlot | undefined {
  let sinceMs = monotonicMs();
  let longest: ProcessSlot | undefined;
  for (const slot of slots) {
    const { idleSinceMs } = slot.owner;
    if (idleSinceMs === undefined || idleSinceMs > sinceMs) continue;
    sinceMs = idleSinceMs;
    longest = slot;
  }
  return longest;
}

function ofOneUser(max: number): string {
  return (
    `${max} for one user (processes.maxPerPrincipal; without authentication all clients are one ` +
    'user)'
  );
}
