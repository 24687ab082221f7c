// A queue in which owners take turns, so that one owner's bulk delays that owner. Bounded: when there is no
// more room, whoever has the most in it loses what came last.

/** What waits, with its owner. */
export interface Queued<K> {
  /** Whose it is. */
  readonly owner: K;
  /** How many turns of its owner it takes, if that is more than one. */
  readonly turns?: number;
}

/** What waits of one owner. */
interface Line<T> {
  /** Oldest first. */
  readonly items: T[];
  /** Turns that what was taken last has used up in advance. */
  usedTurns: number;
}

/** The queue. */
export class FairQueue<K, T extends Queued<K>> {
  /** How many may wait. */
  most: number;
  readonly #displaced: (item: T) => void;
  /** Whoever's turn it is comes first. */
  readonly #owners = new Map<K, Line<T>>();
  #size = 0;

  /**
   * @param most how many may wait
   * @param displaced told of what had to make room for another owner
   */
  constructor(most: number, displaced: (item: T) => void) {
    this.most = most;
    this.#displaced = displaced;
  }

  get size(): number {
    return this.#size;
  }

  /** How much waits for one owner. */
  sizeOf(owner: K): number {
    return this.#owners.get(owner)?.items.length ?? 0;
  }

  /** @returns false when there is no room */
  add(item: T): boolean {
    const line = this.#owners.get(item.owner) ?? { items: [], usedTurns: 0 };
    if (!this.#makeRoom(line.items.length)) return false;
    line.items.push(item);
    this.#owners.set(item.owner, line);
    this.#size++;
    return true;
  }

  /** Takes out the first that `canGo`, of the owner whose turn it is. */
  take(canGo: (item: T) => boolean): T | undefined {
    // An owner that is put behind the others comes round again.
    for (const [owner, line] of this.#owners) {
      const item = line.items.find(canGo);
      if (item === undefined) continue;
      const isItsTurn = line.usedTurns === 0;
      if (isItsTurn) {
        line.usedTurns = (item.turns ?? 1) - 1;
        this.remove(item);
      } else {
        line.usedTurns--;
      }
      if (this.#owners.delete(owner)) this.#owners.set(owner, line);
      if (isItsTurn) return item;
    }
    return undefined;
  }

  /** @returns whether it was here */
  remove(item: T): boolean {
    const items = this.#owners.get(item.owner)?.items;
    const at = items?.indexOf(item) ?? -1;
    if (items === undefined || at < 0) return false;
    items.splice(at, 1);
    this.#size--;
    if (items.length === 0) this.#owners.delete(item.owner);
    return true;
  }

  some(isSuch: (item: T) => boolean): boolean {
    for (const { items } of this.#owners.values()) if (items.some(isSuch)) return true;
    return false;
  }

  all(): T[] {
    return [...this.#owners.values()].flatMap(({ items }) => items);
  }

  /** Makes room for one more of an owner, at the cost of whoever has more here than that one would. */
  #makeRoom(ownSize: number): boolean {
    while (this.#size >= this.most) {
      const last = this.#largest()?.at(-1);
      if (last === undefined || this.sizeOf(last.owner) <= ownSize + 1) return false;
      this.remove(last);
      this.#displaced(last);
    }
    return true;
  }

  #largest(): readonly T[] | undefined {
    let largest: readonly T[] | undefined;
    for (const { items } of this.#owners.values()) {
      if (largest === undefined || items.length > largest.length) largest = items;
    }
    return largest;
  }
}
