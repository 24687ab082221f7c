// Which sessions are over although their ids would still be good. Until they expire, as far as there is room
// for so many: what is kept of one is a digest, so that nobody who reads it has an id.
import { digestOf } from './session-ids.ts';

/** Ids of sessions that are over. */
export class EndedSessions {
  readonly #max: number;
  /** Digest -> wall-clock time after which the id is void by itself; the oldest entry first. */
  readonly #until = new Map<string, number>();

  /** @param max how many are known; the oldest are forgotten first */
  constructor(max: number) {
    this.#max = max;
  }

  /** @param untilMs wall-clock time after which the id is void by itself */
  add(id: string, untilMs: number): void {
    const digest = digestOf(id);
    this.#until.delete(digest);
    this.#until.set(digest, untilMs);
    for (const [oldest] of this.#until) {
      if (this.#until.size <= this.#max) break;
      this.#until.delete(oldest);
    }
  }

  has(id: string): boolean {
    return this.#until.has(digestOf(id));
  }
}
