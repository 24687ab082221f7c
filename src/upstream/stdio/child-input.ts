// The stdin of a child process. What all clients sent by now goes out in one system call, which is
// most of what a small call costs. A process may read slowly, or not at all, so what waits for it is
// bounded: calls are held back as soon as it is full, and besides calls only so much is kept.
import type { Socket } from 'node:net';
import { afterInput } from '../../base/clock.ts';
import { watchStall } from '../../base/stalled-socket.ts';

/** It is full from here on. Beyond the buffer of a pipe, so that a process that reads is kept busy. */
export const FULL_BYTES = 256 * 1024;
/** Longer parts are written as they are; shorter ones are copied into one. */
const LARGE_BYTES = 32 * 1024;
/** What is kept while it is full: cancels, answers and notifications. Calls wait elsewhere. */
const MAX_EXTRA_BYTES = 8 * 1024 * 1024;
/** The last part of that is for short messages: cancels, and refusals of what was too long. */
const FOR_SHORT_BYTES = 512 * 1024;
const SHORT_BYTES = 1024;

export interface ChildInputEvents {
  /** So many bytes wait; told when that is much, or not any more. */
  waits(bytes: number): void;
  /** It is not full any more. */
  drained(): void;
  /** The process has read nothing for too long while it was full. */
  stalled(): void;
}

/** Writes to one process. */
export class ChildInput {
  readonly #stdin: Socket;
  readonly #events: ChildInputEvents;
  readonly #stallMs: number;
  #parts: Buffer[] = [];
  /** Bytes of those. */
  #gathered = 0;
  /** Bytes that came since it is full. */
  #extra = 0;
  #isFull = false;
  #endWatch: (() => void) | undefined;

  /** @param stallMs how long the process may read nothing of what waits for it */
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

  /** Bytes that the process has not taken yet, those included that are not handed to the system. */
  get waitingBytes(): number {
    return this.#gathered + this.#stdin.writableLength;
  }

  /** False while it is full. */
  get isWritable(): boolean {
    return !this.#isFull;
  }

  /**
   * Writes two parts of one message.
   * @returns false when it was dropped, since too much waits already
   */
  write(first: Buffer, second: Buffer): boolean {
    const length = first.length + second.length;
    if (this.#isFull && !this.#keeps(length)) return false;
    if (this.#gathered === 0) afterInput(this.flush);
    this.#parts.push(first, second);
    this.#gathered += length;
    // Before anything is written: many large calls may come in one turn.
    if (!this.#isFull && this.waitingBytes >= FULL_BYTES) this.#isFull = true;
    return true;
  }

  /** Hands everything to the system. */
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

  /** One system call, without a copy of what is large. */
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

  /** Looks whether it is still full. Beyond what the stream calls full itself: so `drain` comes. */
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
