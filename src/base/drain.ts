// Whether something takes new work: the gateway until it stops, an endpoint until it is gone. The one owner
// of that state; whoever takes work in asks it, and nobody keeps a copy.
import { delay, monotonicMs } from './clock.ts';

const POLL_MS = 20;

/** Begun once and for all: no new work is taken, what was begun goes on. */
export class Drain {
  /** Whether no new work is taken. Asked for each call; changed by `begin` only. */
  isOn = false;
  readonly #whole: Drain | undefined;
  readonly #parts = new Set<Drain>();

  /** @param whole of what this is a part of: its drain is one of this too */
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
 * Waits until work that was begun is done, but not longer than `limitMs`.
 * @param isBusy whether some is left
 */
export async function drained(isBusy: () => boolean, limitMs: number): Promise<void> {
  const endMs = monotonicMs() + limitMs;
  while (isBusy() && monotonicMs() < endMs) await delay(POLL_MS);
}
