// One event stream of a Streamable HTTP session: numbers its events, keeps the latest for clients
// that lost the connection, and sends them to whoever reads it now (2025-11-25 basic/transports).
import { monotonicMs } from '../base/clock.ts';
import { primingEvent, resumableEvent } from '../jsonrpc/sse-framing.ts';
import type { StreamWriter } from '../ports/stream-writer.ts';
import type { KeptEvent, ReplayBudget } from './replay-budget.ts';

/** Larger events are kept only for a client that is not there to read them. */
const MAX_KEPT_WHILE_READ = 256 * 1024;

interface KeptMessage extends KeptEvent {
  readonly sequence: number;
}

/** Events of one stream. */
export class EventStream {
  /** What the ids of its events begin with. */
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

  /** When it was finished, or undefined while it is not. */
  get finishedAtMs(): number | undefined {
    return this.#isFinished ? this.#finishedAtMs : undefined;
  }

  /** Lets a client read; `isPrimed` sends an id to resume behind first. */
  attach(writer: StreamWriter, isPrimed: boolean): void {
    this.#writer = writer;
    if (isPrimed) writer.write(primingEvent(`${this.name}_0`));
  }

  /** The reader is gone; it may come back. */
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
    // Its oldest is the session's oldest of this stream.
    this.#budget.keep(kept, () => this.#kept.shift());
  }

  /** Nothing comes after this. What was sent stays for clients that did not get it. */
  finish(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#finishedAtMs = monotonicMs();
    this.#writer?.end();
    this.#writer = undefined;
  }

  /**
   * Continues for a client that has events up to `sequence`.
   * @returns the reader that it replaces, if one is still there
   */
  resume(sequence: number, writer: StreamWriter): StreamWriter | undefined {
    const previous = this.#writer;
    for (const kept of this.#kept) if (kept.sequence > sequence) writer.write(...kept.parts);
    if (this.#isFinished) writer.end();
    else this.#writer = writer;
    return previous;
  }

  /** Forgets what was kept. */
  clear(): void {
    for (const kept of this.#kept.splice(0)) this.#budget.release(kept);
  }
}
