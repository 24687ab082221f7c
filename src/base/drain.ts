// Whether something takes new work: the gateway until it stops, an endpoint until it is gone. The one owner
// of that state; whoever takes work in asks it, and nobody keeps a copy.
import { delay, monotonicMs } from './clock.ts';

const POLL_MS = 20;

/** Begun once and for all: no new work is taken, what was begun goes on. */
export class Drain {
  readonly #outer: Drain | undefined;
  #hasBegun = false;

  /** @param outer of what this is a part of: its drain is one of this too */
  constructor(outer?: Drain) {
    this.#outer = outer;
  }

  /** Whether no new work is taken. */
  get isOn(): boolean {
    return this.#hasBegun || this.#outer?.isOn === true;
  }

  begin(): void {
    this.#hasBegun = true;
  }
}

/**
 * Waits until work that was begun is done, but not longer than `limitMs`.
 * @param isBusy whether some is left
 */
export async function drained(isBusy: () => boolean, limitMs: number): Promise<void> {
  const endMs = monotonicMs() + limitMs;
  while (isBusy() && monotonicMs() < endMs) await delay(POLL_MS);
}
