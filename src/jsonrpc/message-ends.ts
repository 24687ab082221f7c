// The two ends of a message that is too long to keep: enough to find whose it is, at a cost that
// does not depend on how the message is cut into chunks.

/** Kept from each end. */
const KEPT = 64 * 1024;

/** A message that is being dropped. */
export class MessageEnds {
  #head: Buffer = Buffer.alloc(0);
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
    return this.#head;
  }

  /** Its end; overlaps the beginning when the message is short. */
  get tail(): Buffer {
    return Buffer.from(this.#last.subarray(Math.max(this.#lastLength - KEPT, 0), this.#lastLength));
  }

  /** Takes the next piece of the message. */
  push(piece: Buffer): void {
    this.#length += piece.length;
    const missing = KEPT - this.#head.length;
    if (missing > 0) this.#head = Buffer.concat([this.#head, piece.subarray(0, missing)]);
    const end = piece.subarray(-KEPT);
    if (this.#lastLength + end.length > this.#last.length) {
      this.#last.copyWithin(0, this.#lastLength - KEPT, this.#lastLength);
      this.#lastLength = KEPT;
    }
    end.copy(this.#last, this.#lastLength);
    this.#lastLength += end.length;
  }
}
