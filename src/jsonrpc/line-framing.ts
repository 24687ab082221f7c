// Newline-delimited messages (2025-11-25 basic/transports stdio): frames on byte 0x0A only, keeps
// what a chunk leaves unfinished in a list, and holds no more than the limit of an endless line.

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/** Kept from each end of an oversize line, so that its owner can be found. */
const KEPT = 64 * 1024;

export interface LineEvents {
  /** One line without its end; never empty. */
  line(bytes: Buffer): void;
  /** A line was longer than the limit and was dropped. `head` and `tail` are its two ends. */
  oversize(head: Buffer, tail: Buffer, length: number): void;
}

/** Splits a byte stream into lines of at most `maxBytes`. */
export class LineFraming {
  readonly #maxBytes: number;
  readonly #events: LineEvents;
  #pieces: Buffer[] = [];
  #length = 0;
  #head: Buffer | undefined;
  #tail: Buffer = Buffer.alloc(0);

  constructor(maxBytes: number, events: LineEvents) {
    this.#maxBytes = maxBytes;
    this.#events = events;
  }

  /** Bytes of the unfinished line so far; counts what was dropped too. */
  get pendingBytes(): number {
    return this.#length;
  }

  /** Takes the next chunk. Lines that it completes are handed on before this returns. */
  push(chunk: Buffer): void {
    let from = 0;
    for (;;) {
      const at = chunk.indexOf(LINE_FEED, from);
      if (at < 0) break;
      this.#finish(chunk.subarray(from, at));
      from = at + 1;
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
  }

  #keep(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#head !== undefined) {
      this.#keepTail(piece);
      return;
    }
    this.#pieces.push(piece);
    if (this.#length <= this.#maxBytes) return;
    const all = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#head = Buffer.from(all.subarray(0, KEPT));
    this.#tail = Buffer.from(all.subarray(-KEPT));
  }

  #keepTail(piece: Buffer): void {
    const joined = Buffer.concat([this.#tail, piece.subarray(-KEPT)]);
    this.#tail = Buffer.from(joined.subarray(-KEPT));
  }

  #finish(rest: Buffer): void {
    if (this.#head !== undefined || this.#length + rest.length > this.#maxBytes) {
      this.#keep(rest);
      this.#dropOversize();
      return;
    }
    const line = this.#pieces.length === 0 ? rest : Buffer.concat([...this.#pieces, rest]);
    this.#pieces = [];
    this.#length = 0;
    const end = line[line.length - 1] === CARRIAGE_RETURN ? line.length - 1 : line.length;
    if (end > 0) this.#events.line(end === line.length ? line : line.subarray(0, end));
  }

  #dropOversize(): void {
    const head = this.#head ?? Buffer.alloc(0);
    const tail = this.#tail;
    const length = this.#length;
    this.#head = undefined;
    this.#tail = Buffer.alloc(0);
    this.#length = 0;
    this.#events.oversize(head, tail, length);
  }
}
