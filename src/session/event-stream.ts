// One event stream of a Streamable HTTP session: numbers its events, keeps the latest ones for clients that
// lost the connection, and sends them to the current reader (2025-11-25 basic/transports).
import { monotonicMs } from '../base/clock.ts';
import { primingEvent, resumableEvent } from '../jsonrpc/sse-framing.ts';
import type { StreamWriter } from '../ports/stream-writer.ts';
import type { KeptEvent, ReplayBudget } from './replay-budget.ts';

/** Larger events are kept only while no client reads. */
const MAX_KEPT_WHILE_READ = 256 * 1024;

interface KeptMessage extends KeptEvent {
  readonly sequence: number;
}

/** The events of one stream. */
export class EventStream {
  /** The ids of its events begin with this name. */
  readonly name: string;
  readonly #budget: ReplayBudget;
  readonly #kept: KeptMessage[] = [];
  #sequence = 0;
  #writer: StreamWriter | undefined;
  #isFinished = false;
  #finishedAtMs = 0;

  constructor(name: string, budget: ReplayBudget) {
    this.name = name;
    this.#budget = budget;
  }

  get isOpen(): boolean {
    return this.#writer !== undefined;
  }

  get isFinished(): boolean {
    return this.#isFinished;
  }

  /** When it was finished, in monotonic milliseconds; undefined if it is not finished. */
  get finishedAtMs(): number | undefined {
    return this.#isFinished ? this.#finishedAtMs : undefined;
  }

  /** Connects a reader. `isPrimed` first sends an id after which a client can resume. */
  attach(writer: StreamWriter, isPrimed: boolean): void {
    this.#writer = writer;
    if (isPrimed) writer.write(primingEvent(`${this.name}_0`));
  }

  /** The reader has disconnected; it may return. */
  detach(writer: StreamWriter): void {
    if (this.#writer === writer) this.#writer = undefined;
  }

  /**
   * Sends a message and keeps it for a while.
   * @param message its parts, which are not joined if they are large
   */
  write(...message: readonly Buffer[]): void {
    if (this.#isFinished) return;
    const sequence = ++this.#sequence;
    const parts = resumableEvent(`${this.name}_${sequence}`, ...message);
    let bytes = 0;
    for (const { length } of parts) bytes += length;
    this.#writer?.write(...parts);
    if (this.#writer !== undefined && bytes > MAX_KEPT_WHILE_READ) return;
    const kept = { sequence, parts, bytes };
    this.#kept.push(kept);
    // Events of a stream are dropped in order, so it is the first one here.
    this.#budget.keep(kept, () => this.#kept.shift());
  }

  /** No more messages follow. Sent ones are kept for clients that did not get them. */
  finish(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#finishedAtMs = monotonicMs();
    this.#writer?.end();
    this.#writer = undefined;
  }

  /**
   * Continues for a client that has the events up to `sequence`.
   * @returns the reader that is replaced, if there is one
   */
  resume(sequence: number, writer: StreamWriter): StreamWriter | undefined {
    const previous = this.#writer;
    for (const kept of this.#kept) if (kept.sequence > sequence) writer.write(...kept.parts);
    if (this.#isFinished) writer.end();
    else this.#writer = writer;
    return previous;
  }

  /** Drops the kept events. */
  clear(): void {
    for (const kept of this.#kept.splice(0)) this.#budget.release(kept);
  }
}
