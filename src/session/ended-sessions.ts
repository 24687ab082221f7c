// Sessions that are over, although their ids would still be accepted. They are remembered until the ids
// expire, as far as there is room. Only digests are stored, so reading them gives nobody a session id.

/** Digests of sessions that are over. */
export class EndedSessions {
  readonly #max: number;
  /** Digest to the wall-clock time when the id expires; the oldest entry first. */
  readonly #until = new Map<string, number>();

  /** @param max how many are remembered; the oldest ones are dropped first */
  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#until.size;
  }

  get all(): Iterable<[digest: string, untilMs: number]> {
    return this.#until;
  }

  /** @param untilMs wall-clock time when the id expires */
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
