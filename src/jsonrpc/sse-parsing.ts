// Reads server-sent events (WHATWG HTML). Their data stays bytes, because messages must arrive as they were
// sent. Never keeps more than the limit.
import { GatheredBytes } from '../base/gathered-bytes.ts';
import type { TurnQuota } from '../base/turns.ts';
import { KEPT_BYTES, MessageEnds } from './message-ends.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const NEWLINE = Buffer.from('\n');
const DATA = 'data';
/** Room for the name of a field, in addition to its value. */
const FIELD_NAME_BYTES = 64;

/** One event. */
export interface SseEvent {
  /** `message` if the event has no type. */
  readonly type: string;
  /** The `data` lines; undefined if there are none. */
  readonly data: Buffer | undefined;
  readonly id: string | undefined;
  /** How long to wait before reconnecting, in milliseconds. */
  readonly retryMs: number | undefined;
}

export interface SseEvents {
  event(event: SseEvent): void;
  /**
   * An event was larger than the limit, and was dropped. `head` and `tail` are the first and last bytes of
   * its data.
   * @param isForRoom whether `drop` dropped it
   */
  oversize(head: Buffer, tail: Buffer, length: number, isForRoom: boolean): void;
}

/** Parses one event stream. */
export class SseParser {
  readonly #maxBytes: number;
  readonly #events: SseEvents;
  readonly #unfinished = new GatheredBytes();
  /**
   * Set while the unfinished line is over the limit: the ends of its data, or `skipped` if it is not data.
   */
  #longLine: MessageEnds | 'skipped' | undefined;
  #isFirstLine = true;
  /** The last chunk ended in CR: an LF at the start of the next one belongs to it. */
  #skipsLineFeed = false;
  readonly #data = new GatheredBytes();
  #hasData = false;
  #dropped: MessageEnds | undefined;
  #isForRoom = false;
  #type: string | undefined;
  #id: string | undefined;
  #retryMs: number | undefined;

  /** @param maxBytes limit for the data of one event */
  constructor(maxBytes: number, events: SseEvents) {
    this.#maxBytes = maxBytes;
    this.#events = events;
  }

  /** Bytes in memory. */
  get heldBytes(): number {
    const ends = this.#dropped === undefined && this.#longLine === undefined ? 0 : KEPT_BYTES;
    return this.#unfinished.length + this.#data.length + ends;
  }

  /**
   * Drops the unfinished event, because no more bytes may be held. Only the first and last bytes of its data
   * are kept.
   */
  drop(): void {
    if (this.#unfinished.length + this.#data.length === 0) return;
    this.#isForRoom = true;
    if (this.#hasData) this.#dropData();
    if (this.#unfinished.length > 0) this.#keepEnds();
  }

  /**
   * Takes the next chunk. Events that it completes are delivered before this returns.
   * @param begin where to continue in a chunk that was not read completely
   * @param quota what may be read in this turn; each line costs something, even if it is short
   * @returns how far it was read: to the end, unless the turn ended before
   */
  push(chunk: Buffer, begin = 0, quota?: Pick<TurnQuota, 'isSpent' | 'spend'>): number {
    let from = this.#skipsLineFeed && chunk[begin] === LINE_FEED ? begin + 1 : begin;
    if (begin < chunk.length) this.#skipsLineFeed = false;
    const ends = new LineEnds(chunk);
    for (let at = ends.of(from); at < chunk.length; at = ends.of(from)) {
      if (quota?.isSpent === true) return from;
      this.#endLine(chunk.subarray(from, at));
      const next = this.#behindLineEnd(chunk, at);
      quota?.spend(next - from);
      from = next;
    }
    if (from < chunk.length) {
      this.#keep(chunk.subarray(from));
      quota?.spend(chunk.length - from);
    }
    return chunk.length;
  }

  #behindLineEnd(chunk: Buffer, at: number): number {
    if (chunk[at] === LINE_FEED) return at + 1;
    if (at + 1 === chunk.length) this.#skipsLineFeed = true;
    return chunk[at + 1] === LINE_FEED ? at + 2 : at + 1;
  }

  #keep(piece: Buffer): void {
    if (this.#longLine !== undefined) {
      if (this.#longLine !== 'skipped') this.#longLine.push(piece);
      return;
    }
    this.#unfinished.push(piece);
    if (this.#unfinished.length > this.#maxBytes + FIELD_NAME_BYTES) this.#keepEnds();
  }

  /** Keeps only the ends of the unfinished line. */
  #keepEnds(): void {
    const line = this.#withoutMark(this.#unfinished.take());
    const [name, value] = fieldOf(line);
    this.#longLine = 'skipped';
    if (name !== DATA) return;
    this.#longLine = new MessageEnds();
    this.#longLine.push(value);
  }

  #withoutMark(line: Buffer): Buffer {
    if (!this.#isFirstLine) return line;
    this.#isFirstLine = false;
    return line.subarray(0, 3).equals(BYTE_ORDER_MARK) ? line.subarray(3) : line;
  }

  #endLine(rest: Buffer): void {
    const isWhole = this.#longLine === undefined && this.#unfinished.length === 0;
    if (isWhole && rest.length <= this.#maxBytes + FIELD_NAME_BYTES) {
      this.#takeLine(rest);
      return;
    }
    this.#keep(rest);
    const long = this.#longLine;
    this.#longLine = undefined;
    if (long === undefined) this.#takeLine(this.#unfinished.take());
    else if (long !== 'skipped') this.#drop(long);
  }

  #takeLine(bytes: Buffer): void {
    const line = this.#withoutMark(bytes);
    if (line.length === 0) this.#endEvent();
    else this.#takeField(...fieldOf(line));
  }

  #takeField(name: string, value: Buffer): void {
    switch (name) {
      case DATA:
        this.#takeData(value);
        break;
      case 'event':
        this.#type = value.toString('utf8');
        break;
      case 'id':
        if (!value.includes(0)) this.#id = value.toString('utf8');
        break;
      case 'retry':
        if (/^\d{1,9}$/.test(value.toString('latin1'))) this.#retryMs = Number(value);
        break;
      default:
        break; // a comment, or an unknown field
    }
  }

  // A line without a value counts too, because of the line break that it adds.
  #takeData(value: Buffer): void {
    if (this.#dropped !== undefined) {
      this.#dropped.push(NEWLINE);
      this.#dropped.push(value);
      return;
    }
    if (this.#hasData) this.#data.push(NEWLINE);
    this.#hasData = true;
    this.#data.push(value);
    if (this.#data.length > this.#maxBytes) this.#dropData();
  }

  #dropData(): void {
    const ends = new MessageEnds();
    ends.push(this.#data.take());
    this.#drop(ends);
  }

  #drop(ends: MessageEnds): void {
    this.#dropped = ends;
    this.#data.clear();
    this.#hasData = false;
  }

  #endEvent(): void {
    const dropped = this.#dropped;
    const isForRoom = this.#isForRoom;
    const data = this.#hasData ? this.#data.take() : undefined;
    const [type, id, retryMs] = [this.#type, this.#id, this.#retryMs];
    this.#dropped = undefined;
    this.#isForRoom = false;
    this.#hasData = false;
    this.#type = undefined;
    this.#id = undefined;
    this.#retryMs = undefined;
    if (dropped !== undefined) {
      this.#events.oversize(dropped.head, dropped.tail, dropped.length, isForRoom);
    } else if (data !== undefined || id !== undefined || retryMs !== undefined) {
      this.#events.event({ type: type || 'message', data, id, retryMs });
    }
  }
}

/** Finds the line ends of a chunk. Each byte is checked only once for each of the two characters. */
class LineEnds {
  readonly #chunk: Buffer;
  #lineFeed = -1;
  #carriageReturn = -1;

  constructor(chunk: Buffer) {
    this.#chunk = chunk;
  }

  /**
   * The end of the line that starts at `start`; the length of the chunk if it does not end there. `start`
   * must not decrease.
   */
  of(start: number): number {
    if (this.#lineFeed < start) this.#lineFeed = this.#find(LINE_FEED, start);
    if (this.#carriageReturn < start) this.#carriageReturn = this.#find(CARRIAGE_RETURN, start);
    return Math.min(this.#lineFeed, this.#carriageReturn);
  }

  #find(byte: number, start: number): number {
    const at = this.#chunk.indexOf(byte, start);
    return at < 0 ? this.#chunk.length : at;
  }
}

/** Name and value of a line; the name of a comment is empty. */
function fieldOf(line: Buffer): [name: string, value: Buffer] {
  const colon = line.indexOf(COLON);
  if (colon < 0) return [line.toString('latin1', 0, FIELD_NAME_BYTES), Buffer.alloc(0)];
  const start = line[colon + 1] === SPACE ? colon + 2 : colon + 1;
  // A longer name than any known one is not a known name.
  return [line.toString('latin1', 0, Math.min(colon, FIELD_NAME_BYTES)), line.subarray(start)];
}
