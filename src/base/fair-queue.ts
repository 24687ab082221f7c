// A queue in which owners take turns, so that one owner's load delays only that owner. Its size is limited:
// when it is full, the owner with the most items loses its newest one.

/** An item, with its owner. */
export interface Queued<K> {
  readonly owner: K;
  /** How many turns of its owner the item takes; 1 if absent. */
  readonly turns?: number;
}

/** The items of one owner. */
interface Line<T> {
  /** Oldest first. */
  readonly items: T[];
  /** Turns that the last item has used in advance. */
  usedTurns: number;
}

/** The queue; see above. */
export class FairQueue<K, T extends Queued<K>> {
  /** How many may wait. */
  most: number;
  readonly #displaced: (item: T) => void;
  /** The owner whose turn it is comes first. */
  readonly #owners = new Map<K, Line<T>>();
  #size = 0;

  /**
   * @param most how many items may wait
   * @param displaced called with an item that was removed to make room for another owner
   */
  constructor(most: number, displaced: (item: T) => void) {
    this.most = most;
    this.#displaced = displaced;
  }

  get size(): number {
    return this.#size;
  }

  /** The number of items of one owner. */
  sizeOf(owner: K): number {
    return this.#owners.get(owner)?.items.length ?? 0;
  }

  /** @returns false if there is no room */
  add(item: T): boolean {
    const line = this.#owners.get(item.owner) ?? { items: [], usedTurns: 0 };
    if (!this.#makeRoom(line.items.length)) return false;
    line.items.push(item);
    this.#owners.set(item.owner, line);
    this.#size++;
    return true;
  }

  /** Removes and returns the first item that `canGo` accepts, of the first owner that has one. */
  take(canGo: (item: T) => boolean): T | undefined {
    // An owner that is moved to the end is visited again.
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

  /** @returns whether it was in the queue */
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

  /** Makes room for one more item of an owner, if another owner has more items than this one would have. */
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
