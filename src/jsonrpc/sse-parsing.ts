// Server-sent events, incoming (WHATWG HTML, server-sent events): bytes -> events whose data stays
// bytes, since an answer must arrive as it was sent. Holds no more than the limit of an endless event.
import { MessageEnds } from './message-ends.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const NEWLINE = Buffer.from('\n');
const DATA = 'data';
/** Room for the name of a field on top of its value. */
const FIELD_NAME_BYTES = 64;

/** One event. */
export interface SseEvent {
  /** `message` when the event does not say. */
  readonly type: string;
  /** The `data` lines; undefined when there is none. */
  readonly data: Buffer | undefined;
  readonly id: string | undefined;
  /** How long to wait before reconnecting, in milliseconds. */
  readonly retryMs: number | undefined;
}

export interface SseEvents {
  event(event: SseEvent): void;
  /** An event was larger than the limit and was dropped; `head` and `tail` are its data's two ends. */
  oversize(head: Buffer, tail: Buffer, length: number): void;
}

/** Reads one event stream. */
export class SseParser {
  readonly #maxBytes: number;
  readonly #events: SseEvents;
  /** The unfinished line. */
  #pieces: Buffer[] = [];
  #lineLength = 0;
  /** The unfinished line is over the limit: what is kept of it, or nothing if it is no data. */
  #longLine: MessageEnds | 'skipped' | undefined;
  #isFirstLine = true;
  /** The last chunk ended in CR: an LF at the start of the next belongs to it. */
  #skipsLineFeed = false;
  #data: Buffer[] | undefined;
  #dataLength = 0;
  #dropped: MessageEnds | undefined;
  #type: string | undefined;
  #id: string | undefined;
  #retryMs: number | undefined;

  /** @param maxBytes of the data of one event */
  constructor(maxBytes: number, events: SseEvents) {
    this.#maxBytes = maxBytes;
    this.#events = events;
  }

  /** Takes the next chunk. Events that it completes are handed on before this returns. */
  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    let from = this.#skipsLineFeed && chunk[0] === LINE_FEED ? 1 : 0;
    this.#skipsLineFeed = false;
    const hasReturns = chunk.includes(CARRIAGE_RETURN);
    for (;;) {
      const at = lineEnd(chunk, from, hasReturns);
      if (at < 0) break;
      this.#endLine(chunk.subarray(from, at));
      from = this.#behindLineEnd(chunk, at);
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
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
    this.#pieces.push(piece);
    this.#lineLength += piece.length;
    if (this.#lineLength <= this.#maxBytes + FIELD_NAME_BYTES) return;
    const line = this.#takeLine();
    const [name, value] = fieldOf(line);
    this.#longLine = 'skipped';
    if (name !== DATA) return;
    this.#longLine = new MessageEnds();
    this.#longLine.push(value);
  }

  #takeLine(): Buffer {
    const [only, ...others] = this.#pieces;
    const joined = only !== undefined && others.length === 0 ? only : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#lineLength = 0;
    if (!this.#isFirstLine) return joined;
    this.#isFirstLine = false;
    return joined.subarray(0, 3).equals(BYTE_ORDER_MARK) ? joined.subarray(3) : joined;
  }

  #endLine(rest: Buffer): void {
    if (rest.length > 0) this.#keep(rest);
    const long = this.#longLine;
    if (long !== undefined) {
      this.#longLine = undefined;
      if (long !== 'skipped') this.#drop(long);
      return;
    }
    const line = this.#takeLine();
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
        break; // a comment, or a field that nobody knows
    }
  }

  #takeData(value: Buffer): void {
    if (this.#dropped !== undefined) {
      this.#dropped.push(value);
      return;
    }
    this.#data ??= [];
    if (this.#data.length > 0) this.#data.push(NEWLINE);
    this.#data.push(value);
    this.#dataLength += value.length;
    if (this.#dataLength <= this.#maxBytes) return;
    const ends = new MessageEnds();
    for (const kept of this.#data) ends.push(kept);
    this.#drop(ends);
  }

  #drop(ends: MessageEnds): void {
    this.#dropped = ends;
    this.#data = undefined;
    this.#dataLength = 0;
  }

  #endEvent(): void {
    const dropped = this.#dropped;
    const [data, type, id, retryMs] = [this.#data, this.#type, this.#id, this.#retryMs];
    this.#dropped = undefined;
    this.#data = undefined;
    this.#dataLength = 0;
    this.#type = undefined;
    this.#id = undefined;
    this.#retryMs = undefined;
    if (dropped !== undefined) {
      this.#events.oversize(dropped.head, dropped.tail, dropped.length);
    } else if (data !== undefined || id !== undefined || retryMs !== undefined) {
      this.#events.event({ type: type || 'message', data: joined(data), id, retryMs });
    }
  }
}

/** Where the line that starts at `from` ends; negative when it does not. */
function lineEnd(chunk: Buffer, from: number, hasReturns: boolean): number {
  const lineFeed = chunk.indexOf(LINE_FEED, from);
  if (!hasReturns) return lineFeed;
  const carriageReturn = chunk.indexOf(CARRIAGE_RETURN, from);
  if (lineFeed < 0 || carriageReturn < 0) return Math.max(lineFeed, carriageReturn);
  return Math.min(lineFeed, carriageReturn);
}

function joined(data: Buffer[] | undefined): Buffer | undefined {
  return data === undefined || data.length === 1 ? data?.[0] : Buffer.concat(data);
}

/** Name and value of a line; the name of a comment is empty. */
function fieldOf(line: Buffer): [name: string, value: Buffer] {
  const colon = line.indexOf(COLON);
  if (colon < 0) return [line.toString('latin1', 0, FIELD_NAME_BYTES), Buffer.alloc(0)];
  const start = line[colon + 1] === SPACE ? colon + 2 : colon + 1;
  // A name that is longer than any that is known is none.
  return [line.toString('latin1', 0, Math.min(colon, FIELD_NAME_BYTES)), line.subarray(start)];
}
