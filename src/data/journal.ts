// A file of lines in the data folder that says what is so now: each change is one line more, and when there
// are many more lines than things to say, all of it is written anew. Written off the event loop and never
// waited for. A disk that is full costs what can't be kept: all of it is written when there is room again.
import { appendFile, rename, rm, writeFile } from 'node:fs/promises';
import { after, type Timer, within } from '../base/clock.ts';
import { messageOf, UserFileError } from '../base/errors.ts';
import type { Logger } from '../observe/logger.ts';
import type { DataFolder } from './data-folder.ts';

const OWNER_ONLY = 0o600;
/** A file with more is none of ours. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Lines that are of no use any more, before the file is written anew. */
const MAX_USELESS = 1_000;
/** What waits for a slow disk; when it is more, all is written anew instead. */
const MAX_WAITING = 10_000;
const RETRY_MS = 5_000;
const CLOSE_MS = 2_000;

/** What is to be kept. */
export interface KeptState {
  /** How many lines `lines` has, about. */
  readonly size: number;
  /** All of it, as lines without their ends. */
  lines(): readonly string[];
}

/** Such a file. */
export class Journal {
  readonly #path: string;
  readonly #logger: Logger;
  readonly #state: KeptState;
  #waiting: string[] = [];
  /** How many lines the file has; infinite where nobody knows what it has. */
  #written = Number.POSITIVE_INFINITY;
  #working: Promise<void> | undefined;
  #retry: Timer | undefined;
  #isFailing = false;

  /** @param state asked whenever all of it is written */
  constructor(path: string, state: KeptState, logger: Logger) {
    this.#path = path;
    this.#state = state;
    this.#logger = logger;
  }

  /** Notes a change, which the state has already. */
  append(line: string): void {
    this.#waiting.push(line);
    if (this.#waiting.length > MAX_WAITING) {
      this.#waiting = [];
      this.#written = Number.POSITIVE_INFINITY;
    }
    if (!this.#isFailing) this.#work();
  }

  /** Resolves when what was noted is written, as far as it can be. */
  async close(): Promise<void> {
    this.#retry?.cancel();
    if (this.#isFailing) this.#work();
    if (this.#working !== undefined) await within(CLOSE_MS, this.#working);
    this.#retry?.cancel();
  }

  #work(): void {
    this.#working ??= this.#writeAll().finally(() => {
      this.#working = undefined;
      if (this.#waiting.length > 0 && !this.#isFailing) this.#work();
    });
  }

  async #writeAll(): Promise<void> {
    try {
      while (this.#waiting.length > 0 || this.#isFailing) {
        const useless = this.#written + this.#waiting.length - this.#state.size;
        if (useless > this.#state.size + MAX_USELESS) await this.#rewrite();
        else await this.#append();
        this.#mended();
      }
    } catch (error) {
      this.#failed(error);
    }
  }

  async #append(): Promise<void> {
    const lines = this.#waiting;
    this.#waiting = [];
    await appendFile(this.#path, text(lines), { mode: OWNER_ONLY });
    this.#written += lines.length;
  }

  async #rewrite(): Promise<void> {
    const lines = this.#state.lines();
    this.#waiting = [];
    this.#written = Number.POSITIVE_INFINITY;
    const next = `${this.#path}.new`;
    try {
      await writeFile(next, text(lines), { mode: OWNER_ONLY });
      await rename(next, this.#path);
    } catch (error) {
      await rm(next, { force: true }).catch(() => undefined);
      throw error;
    }
    this.#written = lines.length;
  }

  /** The file may have half a line now: the next time all of it is written. */
  #failed(error: unknown): void {
    this.#written = Number.POSITIVE_INFINITY;
    this.#waiting = [];
    this.#retry = after(RETRY_MS, () => this.#work());
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#logger.error(
      { path: this.#path, why: messageOf(error) },
      'data can not be written: what changes is lost with the process',
    );
  }

  #mended(): void {
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#logger.info({ path: this.#path }, 'data can be written again');
  }
}

/**
 * The lines of such a file. What can't be read is as if it were not there, since all of it can be done without.
 * @param take told of each line in order; returns whether it could be read
 */
export function readJournal(
  folder: DataFolder,
  name: string,
  logger: Logger,
  take: (line: string) => boolean,
): void {
  let bytes: Buffer | undefined;
  try {
    bytes = folder.read(name, MAX_BYTES);
  } catch (error) {
    if (!(error instanceof UserFileError)) throw error;
    logger.error({ why: error.message }, 'data: a file is of no use, and is written anew');
  }
  if (bytes === undefined) return;
  const lines = bytes.toString('utf8').split('\n');
  const bad = lines.filter((line) => line !== '' && !take(line)).length;
  // A process that was killed may leave the beginning of one.
  if (bad > 1) {
    logger.warn({ path: folder.pathOf(name), lines: bad }, 'data: lines that can not be read');
  }
}

function text(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}
