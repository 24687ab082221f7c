// A queue in which owners take turns, so that one owner's bulk delays that owner. Bounded: when there is no
// more room, whoever has the most in it loses what came last.

/** What waits, with its owner. */
export interface Queued<K> {
  /** Whose it is. */
  readonly owner: K;
}

/** The queue. */
export class FairQueue<K, T extends Queued<K>> {
  readonly #most: number;
  readonly #displaced: (item: T) => void;
  /** Oldest first, by owner; whoever's turn it is comes first. */
  readonly #owners = new Map<K, T[]>();
  #size = 0;

  /**
   * @param most how many may wait
   * @param displaced told of what had to make room for another owner
   */
  constructor(most: number, displaced: (item: T) => void) {
    this.#most = most;
    this.#displaced = displaced;
  }

  get size(): number {
    return this.#size;
  }

  /** How much waits for one owner. */
  sizeOf(owner: K): number {
    return this.#owners.get(owner)?.length ?? 0;
  }

  /** @returns false when there is no room */
  add(item: T): boolean {
    const own = this.#owners.get(item.owner) ?? [];
    if (!this.#makeRoom(own.length)) return false;
    own.push(item);
    this.#owners.set(item.owner, own);
    this.#size++;
    return true;
  }

  /** Takes out the first that `canGo`, of the owner whose turn it is. */
  take(canGo: (item: T) => boolean): T | undefined {
    for (const [owner, own] of this.#owners) {
      const item = own.find(canGo);
      if (item === undefined) continue;
      this.remove(item);
      if (this.#owners.delete(owner)) this.#owners.set(owner, own);
      return item;
    }
    return undefined;
  }

  /** @returns whether it was here */
  remove(item: T): boolean {
    const own = this.#owners.get(item.owner);
    const at = own?.indexOf(item) ?? -1;
    if (own === undefined || at < 0) return false;
    own.splice(at, 1);
    this.#size--;
    if (own.length === 0) this.#owners.delete(item.owner);
    return true;
  }

  some(isSuch: (item: T) => boolean): boolean {
    for (const own of this.#owners.values()) if (own.some(isSuch)) return true;
    return false;
  }

  all(): T[] {
    return [...this.#owners.values()].flat();
  }

  /** Makes room for one more of an owner, at the cost of whoever has more here than that one would. */
  #makeRoom(ownSize: number): boolean {
    while (this.#size >= this.#most) {
      const last = this.#largest()?.at(-1);
      if (last === undefined || this.sizeOf(last.owner) <= ownSize + 1) return false;
      this.remove(last);
      this.#displaced(last);
    }
    return true;
  }

  #largest(): readonly T[] | undefined {
    let largest: readonly T[] | undefined;
    for (const own of this.#owners.values()) {
      if (largest === undefined || own.length > largest.length) largest = own;
    }
    return largest;
  }
}
