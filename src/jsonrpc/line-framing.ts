// Newline-delimited messages (2025-11-25 basic/transports stdio): frames on byte 0x0A only, gathers
// what a chunk leaves unfinished, and holds no more than the limit of an endless line.
import { GatheredBytes } from '../base/gathered-bytes.ts';
import { MessageEnds } from './message-ends.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

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
  readonly #unfinished = new GatheredBytes();
  #length = 0;
  /** The unfinished line when it is over the limit; nothing else is kept then. */
  #dropped: MessageEnds | undefined;

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
    if (this.#dropped !== undefined) {
      this.#dropped.push(piece);
      return;
    }
    this.#unfinished.push(piece);
    if (this.#length <= this.#maxBytes) return;
    this.#dropped = new MessageEnds();
    this.#dropped.push(this.#unfinished.take());
  }

  #finish(rest: Buffer): void {
    if (this.#dropped !== undefined || this.#length + rest.length > this.#maxBytes) {
      this.#keep(rest);
      this.#dropOversize();
      return;
    }
    const line = this.#length === 0 ? rest : this.#complete(rest);
    this.#length = 0;
    const end = line[line.length - 1] === CARRIAGE_RETURN ? line.length - 1 : line.length;
    if (end > 0) this.#events.line(end === line.length ? line : line.subarray(0, end));
  }

  #complete(rest: Buffer): Buffer {
    this.#unfinished.push(rest);
    return this.#unfinished.take();
  }

  #dropOversize(): void {
    const dropped = this.#dropped;
    this.#dropped = undefined;
    this.#length = 0;
    if (dropped !== undefined) this.#events.oversize(dropped.head, dropped.tail, dropped.length);
  }
}
