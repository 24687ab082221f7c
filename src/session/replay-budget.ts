// How many bytes of sent events one session keeps for clients that come back, oldest out first.

/** Bytes a session keeps (reliability.md 2.3). */
const MAX_BYTES = 1024 * 1024;

/** An event that was sent. */
export interface KeptEvent {
  readonly bytes: Buffer;
}

/** The kept events of one session, in the order they were sent. */
export class ReplayBudget {
  #bytes = 0;
  /** What to do when an event has to go. */
  readonly #events = new Map<KeptEvent, () => void>();

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
    this.#bytes += event.bytes.length;
    this.#events.set(event, forget);
    for (const [oldest, forgetOldest] of this.#events) {
      // The newest stays even when it is larger than all that may be kept: it may be an answer.
      if (this.#bytes <= MAX_BYTES || oldest === event) return;
      this.release(oldest);
      forgetOldest();
    }
  }

  /** Takes an event out that is kept no longer. */
  release(event: KeptEvent): void {
    if (this.#events.delete(event)) this.#bytes -= event.bytes.length;
  }
}
