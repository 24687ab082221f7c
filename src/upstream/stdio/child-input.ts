// The stdin of a child process. All messages of one moment are written with one system call, which is most of
// the cost of a small call. A process may read slowly, or not at all. So what waits is limited: when the
// input is full, calls are held back, and of other messages only a limited amount is kept.
import type { Socket } from 'node:net';
import { afterInput } from '../../base/clock.ts';
import { watchStall } from '../../base/stalled-socket.ts';

/**
 * From this size on the input is full. Larger than the buffer of a pipe, so that a process that reads is kept
 * busy.
 */
export const FULL_BYTES = 256 * 1024;
/** Longer parts are written as they are; shorter ones are joined. */
const LARGE_BYTES = 32 * 1024;
/** What is kept while it is full: cancellations, responses and notifications. Calls wait elsewhere. */
const MAX_EXTRA_BYTES = 8 * 1024 * 1024;
/**
 * The last part of this is only for short messages: cancellations, and errors instead of messages that were
 * too long.
 */
const FOR_SHORT_BYTES = 512 * 1024;
const SHORT_BYTES = 1024;

export interface ChildInputEvents {
  /** Called with the number of waiting bytes, when that is large, and when it no longer is. */
  waits(bytes: number): void;
  /** The input is no longer full. */
  drained(): void;
  /** The process has read nothing for too long while the input was full. */
  stalled(): void;
}

/** Writes to one process. */
export class ChildInput {
  readonly #stdin: Socket;
  readonly #events: ChildInputEvents;
  readonly #stallMs: number;
  #parts: Buffer[] = [];
  /** The bytes of these. */
  #gathered = 0;
  /** Bytes that were added since it is full. */
  #extra = 0;
  #isFull = false;
  #endWatch: (() => void) | undefined;

  /** @param stallMs how long the process may read nothing of what waits for it, in milliseconds */
  constructor(stdin: Socket, events: ChildInputEvents, stallMs: number) {
    this.#stdin = stdin;
    this.#events = events;
    this.#stallMs = stallMs;
    stdin.on('drain', () => {
      events.waits(0);
      this.#look();
    });
    stdin.on('close', () => events.waits(0));
  }

  /** Bytes that the process has not read yet, including those that were not given to the system. */
  get waitingBytes(): number {
    return this.#gathered + this.#stdin.writableLength;
  }

  /** False while it is full. */
  get isWritable(): boolean {
    return !this.#isFull;
  }

  /**
   * Writes two parts of one message.
   * @returns false if it was dropped, because too much waits already
   */
  write(first: Buffer, second: Buffer): boolean {
    const length = first.length + second.length;
    if (this.#isFull && !this.#keeps(length)) return false;
    if (this.#gathered === 0) afterInput(this.flush);
    this.#parts.push(first, second);
    this.#gathered += length;
    // Checked before anything is written, because many large calls may come in one turn.
    if (!this.#isFull && this.waitingBytes >= FULL_BYTES) this.#isFull = true;
    return true;
  }

  /** Gives everything to the system. */
  readonly flush = (): void => {
    if (this.#gathered === 0) return;
    const parts = this.#parts;
    const length = this.#gathered;
    this.#parts = [];
    this.#gathered = 0;
    if (!this.#stdin.writable) return;
    if (length < LARGE_BYTES) this.#stdin.write(Buffer.concat(parts, length));
    else this.#writeAll(parts);
    if (this.#stdin.writableNeedDrain) this.#events.waits(this.#stdin.writableLength);
    if (this.#isFull) this.#look();
  };

  #keeps(length: number): boolean {
    const limit = length <= SHORT_BYTES ? MAX_EXTRA_BYTES + FOR_SHORT_BYTES : MAX_EXTRA_BYTES;
    if (this.#extra + length > limit) return false;
    this.#extra += length;
    return true;
  }

  /** One system call, without copying large parts. */
  #writeAll(parts: readonly Buffer[]): void {
    this.#stdin.cork();
    let from = 0;
    for (const [at, part] of parts.entries()) {
      if (part.length < LARGE_BYTES) continue;
      this.#writeSmall(parts.slice(from, at));
      this.#stdin.write(part);
      from = at + 1;
    }
    this.#writeSmall(parts.slice(from));
    this.#stdin.uncork();
  }

  #writeSmall(parts: readonly Buffer[]): void {
    if (parts.length > 0) this.#stdin.write(Buffer.concat(parts));
  }

  /**
   * Checks whether it is still full. The limit is higher than that of the stream, so there will be a `drain`
   * event.
   */
  #look(): void {
    if (!this.#isFull) return;
    if (this.waitingBytes >= FULL_BYTES) {
      this.#endWatch ??= watchStall(
        this.#stdin,
        () => this.waitingBytes,
        () => this.#events.stalled(),
        this.#stallMs,
      );
      return;
    }
    this.#endWatch?.();
    this.#endWatch = undefined;
    this.#isFull = false;
    this.#extra = 0;
    this.#events.drained();
  }
}
