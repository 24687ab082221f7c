// Caps over the processes of all servers: how many private ones there may be, and who gives way when
// there are too many (docs/configuration.md#serversname).
import { monotonicMs } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import type { ProcessOptions } from './options.ts';
import { StartTurns } from './start-turns.ts';

/** Who takes a place for a private process. */
export interface PlaceOwner {
  /** Of its principal. */
  readonly quotaKey: string;
  readonly server: string;
  /**
   * Since when nobody seems to need the process, by the monotonic clock; in the future where it is
   * too early to tell. Undefined while somebody needs it.
   */
  readonly spareSinceMs: number | undefined;
  /** Stops the process for somebody else's sake, and gives its place back. */
  giveWay(): void;
}

/** A place for one private process: taken before it starts, given back when it is told to end. */
export interface ProcessPlace {
  /** Resolves when the process may start: the one that had the place before is gone. */
  readonly free: Promise<unknown>;
  /** @param gone resolves when the process is gone */
  giveBack(gone: Promise<unknown>): void;
}

class Place implements ProcessPlace {
  readonly owner: PlaceOwner;
  readonly free: Promise<unknown>;
  readonly #budget: ProcessBudget;
  /** Resolves when its process is gone; undefined until that was told to end. */
  gone: Promise<unknown> | undefined;

  constructor(budget: ProcessBudget, owner: PlaceOwner, free: Promise<unknown>) {
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
  readonly #places = new Set<Place>();
  readonly starts: StartTurns;

  constructor(options: ProcessOptions) {
    this.#options = options;
    this.starts = new StartTurns(options.maxStarting);
  }

  /** Private processes in all. */
  get total(): number {
    return this.#places.size;
  }

  /**
   * Takes a place for a private process. Where there is none left, the process gives way that nobody
   * has needed for longest.
   * @throws GatewayError `overloaded` when the principal, or everybody, needs the most it may have
   */
  take(owner: PlaceOwner): ProcessPlace {
    const { max, maxPerPrincipal } = this.#options;
    const all = [...this.#places];
    const own = all.filter((place) => place.owner.quotaKey === owner.quotaKey);
    let free: Promise<unknown> | undefined = Promise.resolve();
    if (own.length >= maxPerPrincipal) {
      free = this.#room(own);
      if (free === undefined) throw tooMany(owner.server, ofOneUser(maxPerPrincipal));
    } else if (all.length >= max) {
      free = this.#room(own) ?? this.#room(all);
      if (free === undefined) throw tooMany(owner.server, `${max} in all (processes.max)`);
    }
    const place = new Place(this, owner, free);
    this.#places.add(place);
    return place;
  }

  /** The process of a place is gone. */
  forget(place: Place): void {
    this.#places.delete(place);
  }

  /** Frees one of some places; undefined when all are needed. */
  #room(places: readonly Place[]): Promise<unknown> | undefined {
    const room = places.find(({ gone }) => gone !== undefined) ?? longestSpare(places);
    if (room === undefined) return undefined;
    if (room.gone === undefined) room.owner.giveWay();
    this.#places.delete(room);
    return room.gone;
  }
}

function longestSpare(places: readonly Place[]): Place | undefined {
  let sinceMs = monotonicMs();
  let longest: Place | undefined;
  for (const place of places) {
    const { spareSinceMs } = place.owner;
    if (spareSinceMs === undefined || spareSinceMs > sinceMs) continue;
    sinceMs = spareSinceMs;
    longest = place;
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
