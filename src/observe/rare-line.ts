// A log line for something that a peer can cause as often as it wants. It is written at once the first time,
// then at most once a minute, with the number of occurrences since the last line.
import { monotonicMs } from '../base/clock.ts';

const PAUSE_MS = 60_000;

/** One such line. */
export class RareLine<T> {
  readonly #log: (count: number, about: T) => void;
  #count = 0;
  #lastMs = Number.NEGATIVE_INFINITY;

  /** @param log writes the line */
  constructor(log: (count: number, about: T) => void) {
    this.#log = log;
  }

  /**
   * Counts an occurrence, and writes the line if it is due.
   * @param about the latest occurrence
   */
  note(about: T): void {
    this.#count++;
    const nowMs = monotonicMs();
    if (nowMs - this.#lastMs < PAUSE_MS) return;
    this.#lastMs = nowMs;
    this.#log(this.#count, about);
    this.#count = 0;
  }
}
