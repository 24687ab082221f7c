// A file in the data folder to which each change adds a line. When many lines are outdated, the file is
// written again with the present state only. Nothing waits for the disk. While the disk is full, changes
// exist in memory only; the whole state is written when there is room again.
import { appendFile, rename, rm, writeFile } from 'node:fs/promises';
import { after, type Timer, within } from '../base/clock.ts';
import { messageOf, UserFileError } from '../base/errors.ts';
import type { Logger } from '../observe/logger.ts';
import type { DataFolder } from './data-folder.ts';

const OWNER_ONLY = 0o600;
/** A larger file was not written by the gateway. */
const MAX_BYTES = 64 * 1024 * 1024;
/** How many outdated lines a file may have before it is written again. */
const MAX_USELESS = 1_000;
/** How many lines may wait for a slow disk; if there are more, the whole state is written instead. */
const MAX_WAITING = 10_000;
const RETRY_MS = 5_000;
const CLOSE_MS = 2_000;

/** The state that a journal keeps. */
export interface KeptState {
  /** About how many lines `lines()` returns. */
  readonly size: number;
  /** The whole state, as lines without line ends. */
  lines(): readonly string[];
}

/** Writes the changes of a state to its file. */
export class Journal {
  readonly #path: string;
  readonly #logger: Logger;
  readonly #state: KeptState;
  #waiting: string[] = [];
  /** How many lines the file has; infinite if unknown, so that the file is written again. */
  #written = Number.POSITIVE_INFINITY;
  #working: Promise<void> | undefined;
  #retry: Timer | undefined;
  #isFailing = false;

  /** @param state read whenever the whole file is written */
  constructor(path: string, state: KeptState, logger: Logger) {
    this.#path = path;
    this.#state = state;
    this.#logger = logger;
  }

  /** Adds the line of a change that the state already contains. */
  append(line: string): void {
    this.#waiting.push(line);
    if (this.#waiting.length > MAX_WAITING) {
      this.#waiting = [];
      this.#written = Number.POSITIVE_INFINITY;
    }
    if (!this.#isFailing) this.#work();
  }

  /** Resolves when all changes are written, or after 2 s. */
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

  /** The file may now end in an incomplete line, so the whole file is written next time. */
  #failed(error: unknown): void {
    this.#written = Number.POSITIVE_INFINITY;
    this.#waiting = [];
    this.#retry = after(RETRY_MS, () => this.#work());
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#logger.error(
      { path: this.#path, why: messageOf(error) },
      'data can not be written: changes are lost when the process ends',
    );
  }

  #mended(): void {
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#logger.info({ path: this.#path }, 'data can be written again');
  }
}

/**
 * Reads the lines of a journal. What can't be read is ignored: the gateway works without it.
 * @param take called with each line in order; returns whether it could read the line
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
    logger.error({ why: error.message }, 'data: a file can not be used and is written again');
  }
  if (bytes === undefined) return;
  const lines = bytes.toString('utf8').split('\n');
  const bad = lines.filter((line) => line !== '' && !take(line)).length;
  // One incomplete line is normal: a killed process leaves it.
  if (bad > 1) {
    logger.warn({ path: folder.pathOf(name), lines: bad }, 'data: lines that can not be read');
  }
}

function text(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}
