// Which sessions are over although their ids would still be good. Until they expire, as far as there is room
// for so many: what is kept of one is a digest, so that nobody who reads it has an id.

/** Digests of sessions that are over. */
export class EndedSessions {
  readonly #max: number;
  /** Digest -> wall-clock time after which the id is void by itself; the oldest entry first. */
  readonly #until = new Map<string, number>();

  /** @param max how many are known; the oldest are forgotten first */
  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#until.size;
  }

  get all(): Iterable<[digest: string, untilMs: number]> {
    return this.#until;
  }

  /** @param untilMs wall-clock time after which the id is void by itself */
  add(digest: string, untilMs: number): void {
    this.#until.delete(digest);
    this.#until.set(digest, untilMs);
    for (const [oldest] of this.#until) {
      if (this.#until.size <= this.#max) break;
      this.#until.delete(oldest);
    }
  }

  remove(digest: string): void {
    this.#until.delete(digest);
  }

  has(digest: string): boolean {
    return this.#until.has(digest);
  }
}
