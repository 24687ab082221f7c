// Who watches what, of one kind of things at one instance: resources by URI, or tasks by the server's
// id. Each kind has a table of its own, since a client may write any text as a URI.
import type { Listener } from './fan-out.ts';

/** Everything that is watched, and by whom. */
export class Subscriptions {
  readonly #watchers = new Map<string, Set<Listener>>();

  get size(): number {
    return this.#watchers.size;
  }

  /** What is watched. */
  get all(): string[] {
    return [...this.#watchers.keys()];
  }

  has(what: string): boolean {
    return this.#watchers.has(what);
  }

  watchersOf(what: string): ReadonlySet<Listener> {
    return this.#watchers.get(what) ?? new Set();
  }

  entries(): IterableIterator<[string, ReadonlySet<Listener>]> {
    return this.#watchers.entries();
  }

  /** How many things somebody watches. */
  countOf(listener: Listener): number {
    let count = 0;
    for (const watchers of this.#watchers.values()) if (watchers.has(listener)) count++;
    return count;
  }

  add(listener: Listener, what: string): void {
    const watchers = this.#watchers.get(what) ?? new Set();
    this.#watchers.set(what, watchers.add(listener));
  }

  /** @returns true when nobody watches it any more */
  remove(listener: Listener, what: string): boolean {
    const watchers = this.#watchers.get(what);
    if (watchers?.delete(listener) !== true || watchers.size > 0) return false;
    this.#watchers.delete(what);
    return true;
  }

  /**
   * Takes a client out.
   * @returns what nobody watches any more
   */
  leave(listener: Listener): string[] {
    return this.all.filter((what) => this.remove(listener, what));
  }

  clear(): void {
    this.#watchers.clear();
  }
}
