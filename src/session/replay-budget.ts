// How many bytes of sent events one session keeps for clients that come back, oldest out first.

/** Bytes a session keeps (reliability.md 2.3). */
const MAX_BYTES = 1024 * 1024;

/** Lets go of the oldest kept event of a stream and returns its size; 0 when it has none. */
export type Forget = () => number;

/** The kept events of one session, in the order they were sent. */
export class ReplayBudget {
  #bytes = 0;
  readonly #order: Forget[] = [];

  get bytes(): number {
    return this.#bytes;
  }

  /** Accounts for an event; forgets older ones, of any stream, when there are too many. */
  keep(bytes: number, forget: Forget): void {
    this.#bytes += bytes;
    this.#order.push(forget);
    // The newest stays even when it is larger than all that may be kept: it may be an answer.
    while (this.#bytes > MAX_BYTES && this.#order.length > 1) {
      this.#bytes -= this.#order.shift()?.() ?? 0;
    }
  }

  /** Takes bytes out that were forgotten otherwise. */
  release(bytes: number): void {
    this.#bytes -= bytes;
  }
}
