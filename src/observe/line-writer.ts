// Writes whole lines to a descriptor, one write at a time and off the event loop. A line of which a full
// disk took only the beginning is taken back and waits, so that no file has half a line. Knows no paths.
import { fstatSync, ftruncateSync, write, writeSync } from 'node:fs';
import { after, type Timer, within } from '../base/clock.ts';
import { codeOf } from '../base/errors.ts';

/** What may wait for a slow or full disk; more is refused. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
/** How much goes out in one write. */
const MAX_BATCH_BYTES = 64 * 1024;
/** When to try again after a failure, if no line comes before. */
const RETRY_MS = 1_000;
/** When to try again at a pipe that is full. */
const FULL_PIPE_MS = 50;

export interface LineWriterEvents {
  /** The descriptor for what comes next; asked for between two lines, while nothing is being written. */
  target(): number;
  wrote(): void;
  /** The lines wait, and are tried again. */
  failed(error: unknown): void;
}

/** Writes lines in the order in which they come. */
export class LineWriter {
  readonly #events: LineWriterEvents;
  readonly #lines: Buffer[] = [];
  #waitingBytes = 0;
  /** How many of the lines the system has now. */
  #inFlight = 0;
  #fd = -1;
  /** Whether the descriptor has the beginning of the first line for good. */
  #isTorn = false;
  #retry: Timer | undefined;
  #settled: (() => void) | undefined;

  constructor(events: LineWriterEvents) {
    this.#events = events;
  }

  /** How many lines are not written yet. */
  get waiting(): number {
    return this.#lines.length;
  }

  /**
   * Takes a line, with its line feed.
   * @returns false when too much waits already: the line is lost
   */
  push(text: string): boolean {
    const line = Buffer.from(text);
    if (this.#waitingBytes + line.length > MAX_WAITING_BYTES) return false;
    this.#lines.push(line);
    this.#waitingBytes += line.length;
    this.#next();
    return true;
  }

  /** Resolves when all is written, when that fails, or after `limitMs`. */
  async finish(limitMs: number): Promise<void> {
    if (this.#lines.length === 0) return;
    const settled = new Promise<void>((resolve) => {
      this.#settled = resolve;
    });
    this.#next();
    await within(limitMs, settled);
  }

  /** Writes at once what the system does not have yet, for a process that is about to end. */
  flush(): void {
    try {
      if (this.#inFlight === 0) this.#fd = this.#isTorn ? this.#fd : this.#events.target();
      const lines = this.#lines.splice(this.#inFlight);
      if (lines.length > 0) writeSync(this.#fd, Buffer.concat(lines));
    } catch {
      // Nobody is left who could be told.
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
    // Without a line more the next try would end as this one.
    if (whole === 0 && !this.#isTorn) {
      this.#failed(new Error(`only ${written} of ${length} bytes were taken`));
      return;
    }
    this.#events.wrote();
    if (this.#lines.length === 0) this.#settle();
    else this.#next();
  }

  /** Takes the beginning of the first line from the end of the file, or else has the rest go there too. */
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

/** @returns false for what is no file, or one that can only grow */
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
