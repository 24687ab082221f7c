// Decides which open stream of a Streamable HTTP session carries a message, and which messages wait while
// none is open. A message is sent on exactly one stream (2025-11-25 basic/transports).
import { monotonicMs } from '../base/clock.ts';
import { type FindOwner, HeldAmount } from '../base/held-bytes.ts';
import { errorMessage } from '../jsonrpc/serialize.ts';
import { comment, resumableEvent } from '../jsonrpc/sse-framing.ts';
import { wireErrorOf } from '../mcp/errors.ts';
import { FAILURES } from '../mcp/failures.ts';
import { hasPrimingEvent } from '../mcp/versions.ts';
import type { NotificationWriter } from '../ports/response-writer.ts';
import type { StreamWriter } from '../ports/stream-writer.ts';
import { EventStream } from './event-stream.ts';
import { ReplayBudget } from './replay-budget.ts';

/** Messages kept while the client has no open stream (docs/reliability.md#limits). */
const MAX_WAITING = 1_000;
const MAX_WAITING_BYTES = 1024 * 1024;
/** How long a finished stream can be resumed. */
const KEEP_FINISHED_MS = 300_000;
const MAX_STREAMS = 256;

/** `12_3` is event 3 of stream 12; `12.NQ_3` also says that the stream belongs to the call with the id 5. */
const EVENT_ID = /^(\d{1,15})(?:\.([\w-]{0,48}))?_(\d{1,15})$/;
/** Event id of the error for a call of an earlier process. */
const OVER = 'over';
/** Longer call ids are left out of event ids. */
const MAX_CALL_ID = 36;

interface WaitingMessage {
  readonly message: Buffer;
  readonly kind: string | undefined;
}

/** The streams of one session. */
export class SessionStreams implements NotificationWriter {
  readonly #version: string;
  readonly #budget: ReplayBudget;
  readonly #streams = new Map<number, EventStream>();
  /** Streams up to this number belong to an earlier process. */
  readonly #lastOfBefore: number;
  #lastNumber: number;
  #general: EventStream | undefined;
  #generalWriter: StreamWriter | undefined;
  #waiting: WaitingMessage[] = [];
  #waitingBytes = 0;
  readonly #held: HeldAmount;

  /**
   * @param owner of the bytes that are kept
   * @param lastNumber the highest stream number that the client may know; new streams have higher ones
   */
  constructor(version: string, owner: FindOwner, lastNumber = 0) {
    this.#version = version;
    this.#lastOfBefore = lastNumber;
    this.#lastNumber = lastNumber;
    this.#budget = new ReplayBudget(owner);
    this.#held = new HeldAmount(owner, 'replay', () => this.#takeWaiting());
  }

  /** Whether the client reads messages that belong to no call. */
  get isOpen(): boolean {
    return this.#generalWriter !== undefined;
  }

  /**
   * Opens the stream of one call.
   * @param call JSON of the call's id; absent for a batch
   */
  openForCall(writer: StreamWriter, call?: Buffer): EventStream {
    const stream = this.#create(callMark(call));
    stream.attach(writer, hasPrimingEvent(this.#version));
    return stream;
  }

  /**
   * Opens the stream for messages that belong to no call. The newest one gets everything. An older one is
   * ended, because its client may have lost it without noticing (docs/reliability.md#limits).
   */
  openGeneral(writer: StreamWriter): void {
    this.#supersede();
    const stream = this.#create();
    this.#general = stream;
    this.#generalWriter = writer;
    stream.attach(writer, hasPrimingEvent(this.#version));
    this.#flush();
  }

  /** Whether no event can follow the event with this id, because its call was in an earlier process. */
  isOver(eventId: string): boolean {
    const { stream, call } = this.#find(eventId);
    if (eventId === OVER) return this.#lastOfBefore > 0;
    return stream === undefined && call !== undefined && idIn(call) === '';
  }

  /**
   * Continues a stream after the event with an id.
   * @param eventId value of `Last-Event-ID`. An unknown one opens the general stream. For a call of an
   *   earlier process it sends an error, because the client would wait for an answer that can't come.
   */
  resume(eventId: string, writer: StreamWriter): void {
    const { stream, call, sequence } = this.#find(eventId);
    if (stream === undefined) {
      if (call === undefined) this.openGeneral(writer);
      else {
        const error = errorMessage(
          Buffer.from(idIn(call)),
          wireErrorOf(FAILURES.restartedBeforeAnswer()),
        );
        writer.write(...resumableEvent(OVER, error));
        writer.end();
      }
      return;
    }
    const isGeneral = stream === this.#general;
    const previous = stream.resume(sequence, writer);
    if (previous !== undefined && previous !== writer) supersede(previous);
    if (!isGeneral) return;
    this.#generalWriter = writer;
    this.#flush();
  }

  /** A reader has disconnected. */
  closed(writer: StreamWriter): void {
    if (this.#generalWriter === writer) this.#generalWriter = undefined;
    for (const stream of this.#streams.values()) stream.detach(writer);
  }

  send(message: Buffer, kind: string | undefined): void {
    if (this.#general !== undefined && this.#generalWriter !== undefined) {
      this.#general.write(message);
      return;
    }
    if (kind !== undefined) this.#waiting = this.#waiting.filter((one) => one.kind !== kind);
    // Copied: the message is a view of a chunk of the server's output.
    this.#waiting.push({ message: Buffer.from(message), kind });
    this.#bound();
  }

  prune(): void {
    this.#forgetOld();
  }

  close(): void {
    for (const stream of this.#streams.values()) {
      stream.finish();
      stream.clear();
    }
    this.#streams.clear();
    this.#general = undefined;
    this.#generalWriter = undefined;
    this.#takeWaiting();
  }

  #create(mark = ''): EventStream {
    this.#forgetOld();
    const number = ++this.#lastNumber;
    const stream = new EventStream(`${number}${mark}`, this.#budget);
    this.#streams.set(number, stream);
    return stream;
  }

  #find(eventId: string): {
    readonly stream: EventStream | undefined;
    readonly call: string | undefined;
    readonly sequence: number;
  } {
    const [, number = Number.NaN, call, sequence] = EVENT_ID.exec(eventId) ?? [];
    const isOfBefore = Number(number) <= this.#lastOfBefore;
    const stream = this.#streams.get(Number(number));
    return { stream, call: isOfBefore ? call : undefined, sequence: Number(sequence) };
  }

  #supersede(): void {
    const stream = this.#general;
    const writer = this.#generalWriter;
    this.#general = undefined;
    this.#generalWriter = undefined;
    if (stream === undefined) return;
    writer?.write(comment('superseded'));
    stream.finish();
  }

  #flush(): void {
    for (const { message } of this.#takeWaiting()) this.#general?.write(message);
  }

  #takeWaiting(): readonly WaitingMessage[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#held.release();
    return waiting;
  }

  #bound(): void {
    this.#waitingBytes = this.#waiting.reduce((sum, { message }) => sum + message.length, 0);
    while (this.#waiting.length > MAX_WAITING || this.#waitingBytes > MAX_WAITING_BYTES) {
      const dropped = this.#waiting.shift();
      if (dropped === undefined) break;
      this.#waitingBytes -= dropped.message.length;
    }
    this.#held.set(this.#waitingBytes);
  }

  #forgetOld(): void {
    const beforeMs = monotonicMs() - KEEP_FINISHED_MS;
    for (const [number, stream] of this.#streams) {
      const { finishedAtMs } = stream;
      if (finishedAtMs === undefined) continue;
      if (finishedAtMs > beforeMs && this.#streams.size < MAX_STREAMS) continue;
      stream.clear();
      this.#streams.delete(number);
    }
  }
}

/** The part of an event id that contains the call's id. */
function callMark(call: Buffer | undefined): string {
  return call === undefined || call.length > MAX_CALL_ID ? '.' : `.${call.toString('base64url')}`;
}

/** JSON of the call's id; empty if the event id has none (batches, long ids) or an invalid one. */
function idIn(call: string): string {
  const id = Buffer.from(call, 'base64url').toString('utf8');
  return /^(-?\d+|"[^"\\\p{Cc}]*")$/u.test(id) ? id : '';
}

function supersede(writer: StreamWriter): void {
  writer.write(comment('superseded'));
  writer.end();
}
