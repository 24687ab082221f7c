// Limits the bytes of sent events that one session keeps for clients that resume. The oldest are dropped
// first. They count as held for the client.
import { type FindOwner, HeldAmount } from '../base/held-bytes.ts';

/** Limit for one session (docs/reliability.md#limits). */
const MAX_BYTES = 1024 * 1024;

/** A sent event. */
export interface KeptEvent {
  readonly parts: readonly Buffer[];
  /** Of all parts. */
  readonly bytes: number;
}

/** The kept events of one session, in the order in which they were sent. */
export class ReplayBudget {
  readonly #held: HeldAmount;
  #bytes = 0;
  /** With the function to call when the event is dropped. */
  readonly #events = new Map<KeptEvent, () => void>();

  /** @param owner of the bytes */
  constructor(owner: FindOwner) {
    this.#held = new HeldAmount(owner, 'replay', () => this.#forgetAll());
  }

  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#events.size;
  }

  /**
   * Counts an event. If there is too much, drops older ones of any stream.
   * @param forget called when the event is dropped for that reason
   */
  keep(event: KeptEvent, forget: () => void): void {
    this.#bytes += event.bytes;
    this.#events.set(event, forget);
    for (const [oldest, forgetOldest] of this.#events) {
      // The newest event stays even if it is larger than the limit, because it may be a response.
      if (this.#bytes <= MAX_BYTES || oldest === event) break;
      this.#take(oldest);
      forgetOldest();
    }
    this.#held.set(this.#bytes);
  }

  /** Removes an event that is no longer kept. */
  release(event: KeptEvent): void {
    this.#take(event);
    this.#held.set(this.#bytes);
  }

  #take(event: KeptEvent): void {
    if (this.#events.delete(event)) this.#bytes -= event.bytes;
  }

  /** Too much is held: a client that resumes gets only later events. */
  #forgetAll(): void {
    const all = [...this.#events];
    this.#events.clear();
    this.#bytes = 0;
    for (const [, forget] of all) forget();
  }
}
