// Messages with a `Content-Length` header block, as language servers use on stdio (Language Server Protocol,
// base protocol). Like line-framing: limited in bytes and in each turn of the event loop, one event for each
// message.
import { GatheredBytes } from '../base/gathered-bytes.ts';
import type { TurnQuota } from '../base/turns.ts';
import { KEPT_BYTES, MessageEnds } from './message-ends.ts';
import { LARGE_TEXT, STEP_BYTES, TextWalk } from './text-walk.ts';

const HEADER_END = Buffer.from('\r\n\r\n');
/** A longer header block is an error. */
const MAX_HEADER_BYTES = 4096;

export interface ContentLengthEvents {
  message(bytes: Buffer): void;
  /**
   * A message was longer than the limit, and was dropped. `head` and `tail` are its first and last bytes.
   * @param isForRoom whether `drop` dropped it
   */
  oversize(head: Buffer, tail: Buffer, length: number, isForRoom: boolean): void;
  /** The stream does not follow the framing, so nothing more can be read from it. */
  broken(reason: string): void;
  /**
   * Called with a number of bytes that are of no use: empty messages, and the dropped part of a message that
   * is too long.
   */
  wasted?(bytes: number): void;
}

/** Splits a byte stream into messages of at most `maxBytes`. */
export class ContentLengthFraming {
  readonly #maxBytes: number;
  readonly #events: ContentLengthEvents;
  readonly #quota: TurnQuota | undefined;
  readonly #unread = new GatheredBytes();
  /** The length of the body that is being read; -1 while the header is read. */
  #expected = -1;
  /** Set while a message is read that is over the limit. */
  #dropped: MessageEnds | undefined;
  #isForRoom = false;
  #isBroken = false;
  /** Checks a large message before it is delivered. */
  #walk: TextWalk | undefined;

  /** @param quota what the messages may cost in one turn; absent: they are delivered at once */
  constructor(maxBytes: number, events: ContentLengthEvents, quota?: TurnQuota) {
    this.#maxBytes = maxBytes;
    this.#events = events;
    this.#quota = quota;
  }

  /** Bytes in memory. */
  get heldBytes(): number {
    const walked = this.#walk?.bytes.length ?? 0;
    return this.#unread.length + walked + (this.#dropped === undefined ? 0 : KEPT_BYTES);
  }

  /**
   * Drops the unfinished message, because no more bytes may be held. Only its first and last bytes are kept.
   */
  drop(): void {
    const isUnfinished = this.#unread.length < this.#expected;
    if (!isUnfinished || this.#dropped !== undefined) return;
    this.#isForRoom = true;
    this.#dropped = new MessageEnds();
    this.#dropBody(this.#dropped);
  }

  /**
   * Takes the next chunk.
   * @returns false if the turn ended before the chunk was processed: call `goOn` in another turn
   */
  push(chunk: Buffer): boolean {
    if (this.#isBroken) return true;
    this.#unread.push(chunk);
    this.#quota?.spend(chunk.length);
    return this.goOn();
  }

  /**
   * Continues with what has arrived.
   * @returns false if the turn ended again
   */
  goOn(): boolean {
    for (;;) {
      if (this.#isBroken) return true;
      if (this.#quota?.isSpent === true)
        return this.#unread.length === 0 && this.#walk === undefined;
      if (this.#walk !== undefined) this.#goOnWalking(this.#walk);
      else if (!(this.#expected < 0 ? this.#readHeader() : this.#readBody())) return true;
    }
  }

  #goOnWalking(walk: TextWalk): void {
    this.#quota?.spend(STEP_BYTES);
    if (!walk.step()) return;
    this.#walk = undefined;
    this.#events.message(walk.bytes);
  }

  #joined(): Buffer {
    const joined = this.#unread.take();
    this.#unread.push(joined);
    return joined;
  }

  #keepFrom(bytes: Buffer, from: number): void {
    this.#unread.clear();
    this.#unread.push(bytes.subarray(from));
  }

  #readHeader(): boolean {
    if (this.#unread.length === 0) return false;
    const bytes = this.#joined();
    const end = bytes.indexOf(HEADER_END);
    if (end < 0) {
      if (bytes.length > MAX_HEADER_BYTES) this.#break('no end of header');
      return false;
    }
    const match = /^content-length:[ \t]*(\d{1,12})[ \t]*$/im.exec(
      bytes.toString('latin1', 0, end),
    );
    if (match?.[1] === undefined) {
      this.#break('no Content-Length');
      return false;
    }
    this.#expected = Number(match[1]);
    this.#dropped = this.#expected > this.#maxBytes ? new MessageEnds() : undefined;
    this.#keepFrom(bytes, end + HEADER_END.length);
    return true;
  }

  #readBody(): boolean {
    if (this.#dropped !== undefined) return this.#dropBody(this.#dropped);
    if (this.#unread.length < this.#expected) return false;
    const bytes = this.#joined();
    const expected = this.#expected;
    this.#expected = -1;
    this.#keepFrom(bytes, expected);
    this.#quota?.spend(0);
    const text = bytes.subarray(0, expected);
    if (expected >= LARGE_TEXT && this.#quota !== undefined) this.#walk = new TextWalk(text);
    else if (expected > 0) this.#events.message(text);
    else this.#events.wasted?.(0);
    return true;
  }

  #dropBody(dropped: MessageEnds): boolean {
    const bytes = this.#joined();
    const taken = Math.min(this.#expected, bytes.length);
    this.#expected -= taken;
    dropped.push(bytes.subarray(0, taken));
    this.#events.wasted?.(taken);
    this.#keepFrom(bytes, taken);
    if (this.#expected > 0) return false;
    this.#expected = -1;
    this.#dropped = undefined;
    const isForRoom = this.#isForRoom;
    this.#isForRoom = false;
    this.#events.oversize(dropped.head, dropped.tail, dropped.length, isForRoom);
    return true;
  }

  #break(reason: string): void {
    this.#isBroken = true;
    this.#unread.clear();
    this.#events.broken(reason);
  }
}

/** The header block before a message. */
export function contentLengthHeader(message: Buffer): Buffer {
  return Buffer.from(`Content-Length: ${message.length}\r\n\r\n`, 'latin1');
}
