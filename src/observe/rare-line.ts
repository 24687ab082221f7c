// A line of the log for what a peer can make happen as often as it likes: the first time at once, then
// once a minute at most, with how often it has happened since the last line.
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
   * It has happened again.
   * @param about what the line says of the latest one
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
