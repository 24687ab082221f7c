// The two ends of a message that is too long to keep: enough to find whose it is, at a cost that
// does not depend on how the message is cut into chunks.

/** Kept from each end. */
const KEPT = 64 * 1024;
/** What the two ends of one message take. */
export const KEPT_BYTES = 3 * KEPT;

/** A message that is being dropped. */
export class MessageEnds {
  readonly #first = Buffer.allocUnsafe(KEPT);
  #firstLength = 0;
  /** Twice what is kept, so that what must move moves once per KEPT bytes. */
  readonly #last = Buffer.allocUnsafe(2 * KEPT);
  #lastLength = 0;
  #length = 0;

  /** Bytes of the message so far. */
  get length(): number {
    return this.#length;
  }

  /** Its beginning. */
  get head(): Buffer {
    return this.#first.subarray(0, this.#firstLength);
  }

  /** Its end; overlaps the beginning when the message is short. */
  get tail(): Buffer {
    return Buffer.from(this.#last.subarray(Math.max(this.#lastLength - KEPT, 0), this.#lastLength));
  }

  /** Takes the next piece of the message. */
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
