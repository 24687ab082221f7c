// Bytes that come in pieces until they are whole. Who sends decides how small the pieces are, and each
// costs far more to keep than a byte: small ones are joined as they come, so that what is held is hardly
// more than the bytes. Large ones are kept as they are, so nothing is copied twice without need.

/** Pieces of this size are not joined before all are; the read buffer of a pipe is twice as large. */
const LARGE_BYTES = 32 * 1024;

/** Gathers bytes. */
export class GatheredBytes {
  /** Below the large ones each is more than twice as long as the next: so there are few. */
  #pieces: Buffer[] = [];
  #length = 0;

  /** Bytes so far. */
  get length(): number {
    return this.#length;
  }

  /** Takes the next piece; it must not be written to any more. */
  push(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#length += piece.length;
    let joined = piece.length;
    let from = this.#pieces.length;
    for (; from > 0; from--) {
      const before = this.#pieces[from - 1]?.length ?? 0;
      if (before >= LARGE_BYTES || before > 2 * joined) break;
      joined += before;
    }
    if (from === this.#pieces.length) this.#pieces.push(piece);
    else this.#pieces.push(Buffer.concat([...this.#pieces.splice(from), piece], joined));
  }

  /** Gives all bytes, in one piece, and is empty again. The piece may be one that was pushed. */
  take(): Buffer {
    const [only] = this.#pieces;
    const isOne = only !== undefined && this.#pieces.length === 1;
    const whole = isOne ? only : Buffer.concat(this.#pieces, this.#length);
    this.clear();
    return whole;
  }

  /** Forgets all. */
  clear(): void {
    this.#pieces = [];
    this.#length = 0;
  }
}
