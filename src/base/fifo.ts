// First in, first out. `take` costs the same for any length; an array would move all items.

/** Free places at the front, before it is worth moving the rest. */
const MIN_LEFT = 64;

/** A queue. */
export class Fifo<T> {
  #items: (T | undefined)[] = [];
  #first = 0;

  get size(): number {
    return this.#items.length - this.#first;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  /** Removes and returns the oldest item; undefined if there is none. */
  take(): T | undefined {
    const item = this.#items[this.#first];
    if (this.#first < this.#items.length) this.#items[this.#first++] = undefined;
    if (this.#first > MIN_LEFT && 2 * this.#first > this.#items.length) {
      this.#items = this.#items.slice(this.#first);
      this.#first = 0;
    }
    return item;
  }
}
