// Bytes that come in pieces until they are whole. Who sends decides how small the pieces are, and each
// costs far more to keep than a byte: small ones are joined as they come, so that what is held is hardly
// more than the bytes. Large ones are kept as they are, so nothing is copied twice without need; but once
// the whole is very large, they are copied to their place as they come: to join them all at the end would
// take long.

/** Pieces of this size are not joined before all are; the read buffer of a pipe is twice as large. */
const LARGE_BYTES = 32 * 1024;
/** From here on pieces are copied to their place. */
const VERY_LARGE_BYTES = 1024 * 1024;
/**
 * The room for them grows by this factor, where it is not known how many come. It takes no memory before
 * something is copied there.
 */
const GROWTH = 4;

/** Gathers bytes. */
export class GatheredBytes {
  /** Below the large ones each is more than twice as long as the next: so there are few. */
  #pieces: Buffer[] = [];
  #length = 0;
  /** Where a very large whole is put together: all bytes so far, and room for more. */
  #room: Buffer | undefined;

  readonly #expected: number;

  /** @param expected how many come in all; absent: nobody knows */
  constructor(expected = 0) {
    this.#expected = expected;
  }

  /** Bytes so far. */
  get length(): number {
    return this.#length;
  }

  /** Takes the next piece; it must not be written to any more. */
  push(piece: Buffer): void {
    if (piece.length === 0) return;
    if (this.#length + piece.length > VERY_LARGE_BYTES && this.#length > 0) this.#place(piece);
    else this.#keep(piece);
    this.#length += piece.length;
  }

  #keep(piece: Buffer): void {
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

  #place(piece: Buffer): void {
    const needed = this.#length + piece.length;
    if (this.#room === undefined || this.#room.length < needed) {
      const size = this.#expected >= needed ? this.#expected : GROWTH * needed;
      const room = Buffer.allocUnsafeSlow(size);
      const before = this.#room?.subarray(0, this.#length);
      let at = 0;
      for (const kept of before === undefined ? this.#pieces : [before]) at += kept.copy(room, at);
      this.#room = room;
      this.#pieces = [];
    }
    piece.copy(this.#room, this.#length);
  }

  /** Gives all bytes, in one piece, and is empty again. The piece may be one that was pushed. */
  take(): Buffer {
    const [only] = this.#pieces;
    const isOne = only !== undefined && this.#pieces.length === 1;
    const whole = isOne ? only : Buffer.concat(this.#pieces, this.#length);
    const placed = this.#room?.subarray(0, this.#length);
    this.clear();
    return placed ?? whole;
  }

  /** Forgets all. */
  clear(): void {
    this.#pieces = [];
    this.#length = 0;
    this.#room = undefined;
  }
}
