// The number of calls in flight of each principal. Principals without calls have no entry.

/** Calls in flight by principal. */
export class PrincipalLoads {
  #max: number;
  readonly #calls = new Map<string, number>();

  /** @param max calls that one principal may have in flight */
  constructor(max: number) {
    this.#max = max;
  }

  /** From now on a principal may have so many. */
  obey(max: number): void {
    this.#max = max;
  }

  /** Whether a principal has reached its limit. */
  isFull(key: string): boolean {
    return (this.#calls.get(key) ?? 0) >= this.#max;
  }

  /** Whether a principal is above its limit. */
  isOver(key: string): boolean {
    return (this.#calls.get(key) ?? 0) > this.#max;
  }

  begin(key: string): void {
    this.#calls.set(key, (this.#calls.get(key) ?? 0) + 1);
  }

  end(key: string): void {
    const left = (this.#calls.get(key) ?? 1) - 1;
    if (left === 0) this.#calls.delete(key);
    else this.#calls.set(key, left);
  }
}
