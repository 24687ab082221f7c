// Finds where WebSocket frames begin (RFC 6455 5.2). The parser needs about the same time for each frame, however
// short it is, so it is given a limited number of frames at a time.

const FIN_AND_LENGTH = 2;
const MASK_BYTES = 4;
const MASKED = 0x80;
/** Length codes for a longer length field, and the size of that field. */
const IN_TWO_BYTES = 126;
const IN_EIGHT_BYTES = 127;

/** Follows the frame headers of one connection. */
export class FrameHeads {
  /** Bytes of the payload that are still to come. */
  #payload = 0;
  /** Bytes of the header that were read, and how many it has as far as is known. */
  #seen = 0;
  #length = FIN_AND_LENGTH;
  #extended = 0;

  /** The number of frames that began in the last result of `pieceOf`. */
  frames = 0;

  /** The next piece of the input, limited in bytes and in the number of frames that begin in it. */
  pieceOf(bytes: Buffer, mostBytes: number, mostFrames: number): Buffer {
    const end = Math.min(bytes.length, mostBytes);
    let at = 0;
    this.frames = 0;
    while (at < end) {
      if (this.#seen === 0 && this.#payload > 0) {
        const skipped = Math.min(this.#payload, end - at);
        this.#payload -= skipped;
        at += skipped;
        continue;
      }
      if (this.#seen === 0) {
        if (this.frames === mostFrames) break;
        this.frames++;
      }
      this.#takeHead(bytes[at] ?? 0);
      at++;
    }
    return at === bytes.length ? bytes : bytes.subarray(0, at);
  }

  #takeHead(byte: number): void {
    if (this.#seen === 1) {
      const length = byte & ~MASKED;
      this.#extended = extendedLength(length);
      this.#payload = this.#extended === 0 ? length : 0;
      this.#length = FIN_AND_LENGTH + this.#extended + (byte >= MASKED ? MASK_BYTES : 0);
    } else if (this.#seen > 1 && this.#seen < FIN_AND_LENGTH + this.#extended) {
      this.#payload = this.#payload * 0x1_00 + byte;
    }
    this.#seen++;
    if (this.#seen < this.#length) return;
    this.#seen = 0;
    this.#length = FIN_AND_LENGTH;
  }
}

function extendedLength(length: number): number {
  if (length === IN_TWO_BYTES) return 2;
  return length === IN_EIGHT_BYTES ? 8 : 0;
}
