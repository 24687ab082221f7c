// First in, first out. Taking one costs the same however many there are; an array would move all of them.

/** How many places that were left at the front are worth moving the rest for. */
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

  /** The one that came first; undefined when there is none. */
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
