// The first and last bytes of a message that is too long to keep: enough to find the call that it belongs to.
// The cost does not depend on how the message is split into chunks.

/** Bytes kept of each end. */
const KEPT = 64 * 1024;
/** Memory for both ends of one message. */
export const KEPT_BYTES = 3 * KEPT;

/** The ends of a message that is being dropped. */
export class MessageEnds {
  readonly #first = Buffer.allocUnsafe(KEPT);
  #firstLength = 0;
  /** Twice as long as what is kept, so that bytes are moved only once for each KEPT bytes. */
  readonly #last = Buffer.allocUnsafe(2 * KEPT);
  #lastLength = 0;
  #length = 0;

  /** Bytes of the message so far. */
  get length(): number {
    return this.#length;
  }

  /** Its first bytes. */
  get head(): Buffer {
    return this.#first.subarray(0, this.#firstLength);
  }

  /** Its last bytes; they overlap the first ones if the message is short. */
  get tail(): Buffer {
    return Buffer.from(this.#last.subarray(Math.max(this.#lastLength - KEPT, 0), this.#lastLength));
  }

  /** Adds the next piece of the message. */
  push(piece: Buffer): void {
    this.#length += piece.length;
    this.#firstLength += piece.copy(this.#first, this.#firstLength);
    const end = piece.subarray(-KEPT);
    if (this.#lastLength + end.length > this.#last.length) {
      this.#last.copyWithin(0, this.#lastLength - KEPT, this.#lastLength);
      this.#lastLength = KEPT;
    }
    end.copy(this.#last, this.#lastLength);
    this.#lastLength += end.length;
  }
}
