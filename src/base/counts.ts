// How many there are of each. Those of which there are none take no room.

/** Counts by key. */
export class Counts<K = string> {
  readonly #counts = new Map<K, number>();

  /** How many keys there are something of. */
  get size(): number {
    return this.#counts.size;
  }

  keys(): Iterable<K> {
    return this.#counts.keys();
  }

  of(key: K): number {
    return this.#counts.get(key) ?? 0;
  }

  add(key: K, count = 1): void {
    this.#counts.set(key, this.of(key) + count);
  }

  remove(key: K, count = 1): void {
    const left = this.of(key) - count;
    if (left > 0) this.#counts.set(key, left);
    else this.#counts.delete(key);
  }

  clear(): void {
    this.#counts.clear();
  }
}
