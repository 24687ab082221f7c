// A map that keeps only so many entries: those that were used last.

/** A bounded map. */
export class RecentMap<K, V> {
  readonly #limit: number;
  readonly #entries = new Map<K, V>();
  /**
   * Goes on where it stopped, behind the entries that were dropped: to begin anew each time, a map would
   * go over the places of all that was deleted.
   */
  readonly #oldest = this.#entries.keys();

  /** @param limit how many entries are kept */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The value, which counts as a use. */
  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: K, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#limit) return;
    const { value: oldest, done } = this.#oldest.next();
    if (done !== true) this.#entries.delete(oldest);
  }

  /** The value that is there, or a new one. */
  getOrMake(key: K, make: () => V): V {
    const known = this.get(key);
    if (known !== undefined) return known;
    const value = make();
    this.set(key, value);
    return value;
  }

  delete(key: K): void {
    this.#entries.delete(key);
  }

  values(): IterableIterator<V> {
    return this.#entries.values();
  }
}
