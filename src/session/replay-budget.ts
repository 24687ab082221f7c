// How many bytes of sent events one session keeps for clients that come back, oldest out first. They
// count as held for the client.
import { type FindOwner, HeldAmount } from '../base/held-bytes.ts';

/** Bytes a session keeps (docs/reliability.md#limits). */
const MAX_BYTES = 1024 * 1024;

/** An event that was sent. */
export interface KeptEvent {
  readonly parts: readonly Buffer[];
  /** Of all parts. */
  readonly bytes: number;
}

/** The kept events of one session, in the order they were sent. */
export class ReplayBudget {
  readonly #held: HeldAmount;
  #bytes = 0;
  /** What to do when an event has to go. */
  readonly #events = new Map<KeptEvent, () => void>();

  /** @param owner for whom they are kept */
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
   * Accounts for an event; forgets older ones, of any stream, when there are too many.
   * @param forget told when it is forgotten for that reason
   */
  keep(event: KeptEvent, forget: () => void): void {
    this.#bytes += event.bytes;
    this.#events.set(event, forget);
    for (const [oldest, forgetOldest] of this.#events) {
      // The newest stays even when it is larger than all that may be kept: it may be an answer.
      if (this.#bytes <= MAX_BYTES || oldest === event) break;
      this.#take(oldest);
      forgetOldest();
    }
    this.#held.set(this.#bytes);
  }

  /** Takes an event out that is kept no longer. */
  release(event: KeptEvent): void {
    this.#take(event);
    this.#held.set(this.#bytes);
  }

  #take(event: KeptEvent): void {
    if (this.#events.delete(event)) this.#bytes -= event.bytes;
  }

  /** Too much is held: whoever comes back gets what comes from now on. */
  #forgetAll(): void {
    const all = [...this.#events];
    this.#events.clear();
    this.#bytes = 0;
    for (const [, forget] of all) forget();
  }
}
