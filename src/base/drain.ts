// Whether new work is accepted: by the gateway until it stops, by an endpoint until it is removed. All code
// that accepts work asks this object; there are no copies of the state.
import { delay, monotonicMs } from './clock.ts';

const POLL_MS = 20;

/** Begins once and does not end: no new work is accepted, and work in progress continues. */
export class Drain {
  /** Whether no new work is taken. Asked for each call; changed by `begin` only. */
  isOn = false;
  readonly #whole: Drain | undefined;
  readonly #parts = new Set<Drain>();

  /** @param whole the drain of what this is a part of; it also applies here */
  constructor(whole?: Drain) {
    this.#whole = whole;
    if (whole?.isOn === true) this.isOn = true;
    else if (whole !== undefined) whole.#parts.add(this);
  }

  begin(): void {
    this.isOn = true;
    if (this.#whole !== undefined) this.#whole.#parts.delete(this);
    for (const part of [...this.#parts]) part.begin();
  }
}

/**
 * Waits until all work is done, but not longer than `limitMs`.
 * @param isBusy whether work is left
 */
export async function drained(isBusy: () => boolean, limitMs: number): Promise<void> {
  const endMs = monotonicMs() + limitMs;
  while (isBusy() && monotonicMs() < endMs) await delay(POLL_MS);
}
