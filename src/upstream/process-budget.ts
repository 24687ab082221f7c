// Caps over the processes of all servers: how many private ones there may be, and which is evicted
// when there are too many (docs/configuration.md#serversname).
import { monotonicMs } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import type { ProcessOptions } from './options.ts';
import { StartTurns } from './start-turns.ts';

/** Who takes a slot for a private process. */
export interface SlotOwner {
  /** Of its principal. */
  readonly quotaKey: string;
  readonly server: string;
  /**
   * Since when nobody seems to need the process, by the monotonic clock; in the future where it is
   * too early to tell. Undefined while somebody needs it.
   */
  readonly idleSinceMs: number | undefined;
  /** Stops the process for somebody else's sake, and gives its slot back. */
  evict(): void;
}

/** A slot for one private process: taken before it starts, given back when it is told to end. */
export interface ProcessSlot {
  /** Resolves when the process may start: the one that had the slot before is gone. */
  readonly free: Promise<unknown>;
  /** @param gone resolves when the process is gone */
  giveBack(gone: Promise<unknown>): void;
}

class Slot implements ProcessSlot {
  readonly owner: SlotOwner;
  readonly free: Promise<unknown>;
  readonly #budget: ProcessBudget;
  /** Resolves when its process is gone; undefined until that was told to end. */
  gone: Promise<unknown> | undefined;

  constructor(budget: ProcessBudget, owner: SlotOwner, free: Promise<unknown>) {
    this.#budget = budget;
    this.owner = owner;
    this.free = free;
  }

  giveBack(gone: Promise<unknown>): void {
    if (this.gone !== undefined) return;
    this.gone = gone;
    void gone.finally(() => this.#budget.forget(this));
  }
}

/** Counts private processes. */
export class ProcessBudget {
  readonly #options: ProcessOptions;
  readonly #slots = new Set<Slot>();
  readonly starts: StartTurns;

  constructor(options: ProcessOptions) {
    this.#options = options;
    this.starts = new StartTurns(options.maxStarting);
  }

  /** Private processes in all. */
  get total(): number {
    return this.#slots.size;
  }

  /**
   * Takes a slot for a private process. Where there is none left, the process that nobody
   * has needed for longest is evicted.
   * @throws GatewayError `overloaded` when the principal, or everybody, needs the most it may have
   */
  take(owner: SlotOwner): ProcessSlot {
    const { max, maxPerPrincipal } = this.#options;
    const all = [...this.#slots];
    const own = all.filter((slot) => slot.owner.quotaKey === owner.quotaKey);
    let free: Promise<unknown> | undefined = Promise.resolve();
    if (own.length >= maxPerPrincipal) {
      free = this.#room(own);
      if (free === undefined) throw tooMany(owner.server, ofOneUser(maxPerPrincipal));
    } else if (all.length >= max) {
      free = this.#room(own) ?? this.#room(all);
      if (free === undefined) throw tooMany(owner.server, `${max} in all (processes.max)`);
    }
    const slot = new Slot(this, owner, free);
    this.#slots.add(slot);
    return slot;
  }

  /** The process of a slot is gone. */
  forget(slot: Slot): void {
    this.#slots.delete(slot);
  }

  /** Frees one of some slots; undefined when all are needed. */
  #room(slots: readonly Slot[]): Promise<unknown> | undefined {
    const room = slots.find(({ gone }) => gone !== undefined) ?? longestIdle(slots);
    if (room === undefined) return undefined;
    if (room.gone === undefined) room.owner.evict();
    this.#slots.delete(room);
    return room.gone;
  }
}

function longestIdle(slots: readonly Slot[]): Slot | undefined {
  let sinceMs = monotonicMs();
  let longest: Slot | undefined;
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

function tooMany(server: string, limit: string): GatewayError {
  return new GatewayError(
    'overloaded',
    `Server "${server}" needs a process of its own for this client, and there are ${limit} already.`,
    { outcome: 'not_sent', server },
  );
}
