// Collects bytes that arrive in pieces, until all are there. The sender decides how small the pieces are, and
// each piece costs far more memory than one byte. So small pieces are joined at once. Large ones are kept, so
// that nothing is copied twice without need. When the whole becomes very large, pieces are copied to their
// final place as they arrive, because joining all of them at the end would take too long.

/** Pieces of this size are not joined before the end; the read buffer of a pipe is twice as large. */
const LARGE_BYTES = 32 * 1024;
/** From this size on, pieces are copied to their final place. */
const VERY_LARGE_BYTES = 1024 * 1024;
/** If the final size is not known, the buffer grows by this factor. Unused pages of it take no memory. */
const GROWTH = 4;

/** Collects bytes; see above. */
export class GatheredBytes {
  /** Of the small pieces, each is more than twice as long as the next one, so there are few. */
  #pieces: Buffer[] = [];
  #length = 0;
  /** The buffer for a very large whole: all bytes so far, and free room. */
  #room: Buffer | undefined;

  readonly #expected: number;

  /** @param expected the final size in bytes; 0 if it is not known */
  constructor(expected = 0) {
    this.#expected = expected;
  }

  /** Bytes so far. */
  get length(): number {
    return this.#length;
  }

  /** Adds a piece. The caller must not write to it afterwards. */
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

  /** Returns all bytes in one piece, and starts again. The result may be a piece that was pushed. */
  take(): Buffer {
    const [only] = this.#pieces;
    const isOne = only !== undefined && this.#pieces.length === 1;
    const whole = isOne ? only : Buffer.concat(this.#pieces, this.#length);
    const placed = this.#room?.subarray(0, this.#length);
    this.clear();
    return placed ?? whole;
  }

  /** Drops everything. */
  clear(): void {
    this.#pieces = [];
    this.#length = 0;
    this.#room = undefined;
  }
}
