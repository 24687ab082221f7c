// Detects a process that keeps writing more than makes sense, without anybody waiting for it: empty lines,
// noise, notifications. Its output is read in turns, but would use a part of each turn for nothing.
import { monotonicMs } from '../../base/clock.ts';
import { LEAST_COST } from '../../base/turns.ts';

const SECOND_MS = 1_000;
/** In one second: 8,192 short lines, or as many bytes. */
const FLOOD_BYTES = 4 * 1024 * 1024;
/** Output that comes with an answer is allowed: a server may log much for each call. */
const BYTES_OF_ANSWER = 64 * 1024;
/** For so many seconds in a row. */
export const FLOOD_SECONDS = 10;

/** Watches one process. */
export class FloodWatch {
  #startMs = 0;
  #bytes = 0;
  #seconds = 0;

  /**
   * Something arrived that nobody waited for.
   * @returns whether the process has flooded for too long
   */
  note(bytes: number): boolean {
    const nowMs = monotonicMs();
    const tookMs = nowMs - this.#startMs;
    if (tookMs >= SECOND_MS) {
      const isFlood = this.#bytes >= FLOOD_BYTES && tookMs < 2 * SECOND_MS;
      this.#seconds = isFlood ? this.#seconds + 1 : 0;
      this.#startMs = nowMs;
      this.#bytes = 0;
    }
    this.#bytes += Math.max(bytes, LEAST_COST);
    return this.#seconds >= FLOOD_SECONDS;
  }

  /** A call was answered. */
  noteAnswer(): void {
    this.#bytes -= BYTES_OF_ANSWER;
  }
}
