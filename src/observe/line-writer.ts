// Writes whole lines to a file descriptor, one write at a time, without blocking the event loop. If the disk
// is full and only a part of a line was written, the part is removed and the line waits, so that no file
// contains half a line.
import { fstatSync, ftruncateSync, write, writeSync } from 'node:fs';
import { after, type Timer, within } from '../base/clock.ts';
import { codeOf } from '../base/errors.ts';

/** How much may wait for a slow or full disk; more is lost. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
/** How much is written at once. */
const MAX_BATCH_BYTES = 64 * 1024;
/** When to try again after a failure, if no new line comes before. */
const RETRY_MS = 1_000;
/** When to try again if a pipe is full. */
const FULL_PIPE_MS = 50;

export interface LineWriterEvents {
  /** The descriptor for the next lines. Called between two lines, while nothing is being written. */
  target(): number;
  wrote(): void;
  /** The lines wait, and will be tried again. */
  failed(error: unknown): void;
}

/** Writes lines in their order. */
export class LineWriter {
  readonly #events: LineWriterEvents;
  readonly #lines: Buffer[] = [];
  #waitingBytes = 0;
  /** The number of lines in the current write. */
  #inFlight = 0;
  #fd = -1;
  /** Whether the file contains a part of the first line that could not be removed. */
  #isTorn = false;
  #retry: Timer | undefined;
  #settled: (() => void) | undefined;

  constructor(events: LineWriterEvents) {
    this.#events = events;
  }

  /** The number of lines that are not written yet. */
  get waiting(): number {
    return this.#lines.length;
  }

  /**
   * Adds a line, with its line feed.
   * @returns false if too much waits: the line is lost
   */
  push(text: string): boolean {
    const line = Buffer.from(text);
    if (this.#waitingBytes + line.length > MAX_WAITING_BYTES) return false;
    this.#lines.push(line);
    this.#waitingBytes += line.length;
    this.#next();
    return true;
  }

  /** Resolves when all lines are written, when that fails, or after `limitMs`. */
  async finish(limitMs: number): Promise<void> {
    if (this.#lines.length === 0) return;
    const settled = new Promise<void>((resolve) => {
      this.#settled = resolve;
    });
    this.#next();
    await within(limitMs, settled);
  }

  /** Writes the remaining lines at once, for a process that is about to end. */
  flush(): void {
    try {
      if (this.#inFlight === 0) this.#fd = this.#isTorn ? this.#fd : this.#events.target();
      const lines = this.#lines.splice(this.#inFlight);
      if (lines.length > 0) writeSync(this.#fd, Buffer.concat(lines));
    } catch {
      // The process ends, so the error can't be reported.
    }
  }

  #next(): void {
    if (this.#inFlight > 0 || this.#lines.length === 0) return;
    this.#retry?.cancel();
    if (!this.#isTorn) this.#fd = this.#events.target();
    const batch: Buffer[] = [];
    let length = 0;
    for (const line of this.#lines) {
      if (length > 0 && length + line.length > MAX_BATCH_BYTES) break;
      batch.push(line);
      length += line.length;
    }
    this.#inFlight = batch.length;
    write(this.#fd, Buffer.concat(batch, length), 0, length, null, (error, written) => {
      this.#inFlight = 0;
      if (error !== null) this.#failed(error);
      else this.#advance(written, length);
    });
  }

  #advance(written: number, length: number): void {
    let rest = written;
    let whole = 0;
    for (const line of this.#lines) {
      if (line.length > rest) break;
      rest -= line.length;
      whole++;
    }
    this.#lines.splice(0, whole);
    this.#waitingBytes -= written;
    if (whole > 0) this.#isTorn = false;
    if (rest > 0) this.#takeBack(rest);
    // Without a complete line the next try would end in the same way.
    if (whole === 0 && !this.#isTorn) {
      this.#failed(new Error(`only ${written} of ${length} bytes were taken`));
      return;
    }
    this.#events.wrote();
    if (this.#lines.length === 0) this.#settle();
    else this.#next();
  }

  /**
   * Removes the written part of the first line from the file. If that is not possible, the rest is written
   * after it.
   */
  #takeBack(bytes: number): void {
    if (cutEnd(this.#fd, bytes)) {
      this.#waitingBytes += bytes;
      return;
    }
    const [line] = this.#lines;
    if (line !== undefined) this.#lines[0] = line.subarray(bytes);
    this.#isTorn = true;
  }

  #failed(error: unknown): void {
    const isFullPipe = codeOf(error) === 'EAGAIN';
    this.#retry = after(isFullPipe ? FULL_PIPE_MS : RETRY_MS, () => this.#next());
    if (isFullPipe) return;
    this.#events.failed(error);
    this.#settle();
  }

  #settle(): void {
    this.#settled?.();
    this.#settled = undefined;
  }
}

/** @returns false if it is not a file, or can only be appended to */
function cutEnd(fd: number, bytes: number): boolean {
  try {
    const found = fstatSync(fd);
    if (!found.isFile()) return false;
    ftruncateSync(fd, found.size - bytes);
    return true;
  } catch {
    return false;
  }
}
