// Newline-delimited messages (2025-11-25 basic/transports stdio). Splits only at byte 0x0A, keeps the
// unfinished line between chunks, never keeps more than the limit, and delivers in one turn of the event loop
// only as many lines as the sender's quota allows.
import { GatheredBytes } from '../base/gathered-bytes.ts';
import type { TurnQuota } from '../base/turns.ts';
import { KEPT_BYTES, MessageEnds } from './message-ends.ts';
import { LARGE_TEXT, STEP_BYTES, TextWalk } from './text-walk.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

export interface LineEvents {
  /** One line without its line end; never empty. */
  line(bytes: Buffer): void;
  /**
   * A line was longer than the limit, and was dropped. `head` and `tail` are its first and last bytes.
   * @param isForRoom whether `drop` dropped it
   */
  oversize(head: Buffer, tail: Buffer, length: number, isForRoom: boolean): void;
  /**
   * Called with a number of bytes that are of no use: empty lines, and the dropped part of a line that is too
   * long.
   */
  wasted?(bytes: number): void;
}

/** Splits a byte stream into lines of at most `maxBytes`. */
export class LineFraming {
  readonly #maxBytes: number;
  readonly #events: LineEvents;
  #quota: TurnQuota | undefined;
  readonly #unfinished = new GatheredBytes();
  #length = 0;
  /** Set while the unfinished line is over the limit; only these two ends are kept then. */
  #dropped: MessageEnds | undefined;
  #isForRoom = false;
  /** The part of a chunk that the last turn left. */
  #left: Buffer | undefined;
  /** Checks a large line before it is delivered. */
  #walk: TextWalk | undefined;

  /** @param quota what the lines may cost in one turn; absent: they are delivered at once */
  constructor(maxBytes: number, events: LineEvents, quota?: TurnQuota) {
    this.#maxBytes = maxBytes;
    this.#events = events;
    this.#quota = quota;
  }

  /** Bytes of the unfinished line so far, including dropped ones. */
  get pendingBytes(): number {
    return this.#length;
  }

  /** Bytes in memory. */
  get heldBytes(): number {
    const line = this.#dropped === undefined ? this.#unfinished.length : KEPT_BYTES;
    return line + (this.#left?.length ?? 0) + (this.#walk?.bytes.length ?? 0);
  }

  /** Drops the unfinished line, because no more bytes may be held. Only its first and last bytes are kept. */
  drop(): void {
    if (this.#length === 0 || this.#dropped !== undefined) return;
    this.#isForRoom = true;
    this.#keepEnds();
  }

  /**
   * Takes the next chunk, after the last one is processed. Lines that it completes are delivered before this
   * returns.
   * @returns false if the turn ended before the chunk was processed: call `goOn` in another turn
   */
  push(chunk: Buffer): boolean {
    let from = 0;
    while (this.#walk === undefined && this.#quota?.isSpent !== true) {
      const at = chunk.indexOf(LINE_FEED, from);
      if (at < 0) {
        if (from < chunk.length) this.#keep(chunk.subarray(from));
        return true;
      }
      if (at === from && this.#length === 0) {
        from = this.#skipEmpty(chunk, at);
      } else {
        this.#finish(chunk.subarray(from, at));
        from = at + 1;
      }
    }
    if (from < chunk.length) this.#left = chunk.subarray(from);
    return this.#left === undefined && this.#walk === undefined;
  }

  /**
   * Continues with the chunk.
   * @returns false if the turn ended again
   */
  goOn(): boolean {
    if (this.#walk !== undefined && !this.#goOnWalking(this.#walk)) return false;
    const left = this.#left;
    this.#left = undefined;
    return left === undefined || this.push(left);
  }

  /** The stream has ended. The rest is delivered at once, and an unfinished line counts as a line. */
  end(): void {
    this.#quota = undefined;
    this.goOn();
    if (this.#length > 0) this.#finish(Buffer.alloc(0));
  }

  /** @returns whether the line was delivered */
  #goOnWalking(walk: TextWalk): boolean {
    this.#quota?.spend(STEP_BYTES);
    if (this.#quota !== undefined && !walk.step()) return false;
    this.#walk = undefined;
    this.#events.line(walk.bytes);
    return true;
  }

  /** Skips empty lines. @returns the offset after them */
  #skipEmpty(chunk: Buffer, from: number): number {
    let at = from;
    while (chunk[at] === LINE_FEED) at++;
    this.#quota?.spend(at - from);
    this.#events.wasted?.(at - from);
    return at;
  }

  #keep(piece: Buffer): void {
    this.#length += piece.length;
    this.#quota?.spend(piece.length);
    if (this.#dropped !== undefined) {
      this.#dropped.push(piece);
      this.#events.wasted?.(piece.length);
      return;
    }
    this.#unfinished.push(piece);
    if (this.#length > this.#maxBytes) this.#keepEnds();
  }

  #keepEnds(): void {
    this.#dropped = new MessageEnds();
    this.#dropped.push(this.#unfinished.take());
  }

  #finish(rest: Buffer): void {
    if (this.#dropped !== undefined || this.#length + rest.length > this.#maxBytes) {
      this.#keep(rest);
      this.#dropOversize();
      return;
    }
    this.#quota?.spend(rest.length);
    const line = this.#length === 0 ? rest : this.#complete(rest);
    this.#length = 0;
    const end = line[line.length - 1] === CARRIAGE_RETURN ? line.length - 1 : line.length;
    const text = end === line.length ? line : line.subarray(0, end);
    if (end === 0) this.#events.wasted?.(line.length);
    else if (end >= LARGE_TEXT && this.#quota !== undefined) this.#walk = new TextWalk(text);
    else this.#events.line(text);
  }

  #complete(rest: Buffer): Buffer {
    this.#unfinished.push(rest);
    return this.#unfinished.take();
  }

  #dropOversize(): void {
    const dropped = this.#dropped;
    const isForRoom = this.#isForRoom;
    this.#dropped = undefined;
    this.#isForRoom = false;
    this.#length = 0;
    if (dropped === undefined) return;
    this.#events.oversize(dropped.head, dropped.tail, dropped.length, isForRoom);
  }
}
