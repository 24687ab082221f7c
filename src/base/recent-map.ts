// A map that keeps only the most recently used entries.

/** A map of limited size. */
export class RecentMap<K, V> {
  readonly #limit: number;
  readonly #entries = new Map<K, V>();
  /**
   * The iterator is kept, so that it continues behind the entries that were dropped. A new iterator would
   * pass the places of all deleted entries again.
   */
  readonly #oldest = this.#entries.keys();

  /** @param limit how many entries are kept */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The value; this counts as a use. */
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

  /** The existing value, or a new one. */
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
