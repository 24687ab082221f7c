/**
 * How a test gets a scripted server: the raw `servers:` entry to put in the configuration, and the
 * journal in which that server records every line it received, with its pid.
 */
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tempDir } from './temp-dir.ts';
import { PATIENCE_MS, until } from './until.ts';
import { parseMessage, type WireMessage } from './wire-message.ts';

/** The folder with the fixture servers. */
export const FIXTURES = fileURLToPath(new URL('../fixtures/servers/', import.meta.url));

// The gateway gives its servers none of its own variables: see temp-root.ts.
const cache = process.env['NODE_COMPILE_CACHE'];
const CACHE = cache === undefined ? {} : { env: { NODE_COMPILE_CACHE: cache } };

/** One raw entry under `servers:`. */
export type ServerConfig = Record<string, unknown>;

/** A line that a server received (`in`), or something that happened to it (`event`). */
export interface JournalEntry {
  /** Milliseconds since the epoch. */
  readonly t: number;
  readonly pid: number;
  readonly kind: 'in' | 'event';
  /** For `in`: the line as received, with no newline. For `event`: its name (`start`, `eof`, ...). */
  readonly raw: string;
}

/** A message that a server received. */
export interface JournalMessage extends WireMessage {
  readonly pid: number;
}

/** Reads what a scripted server recorded. */
export class Journal {
  readonly file: string;
  readonly #entries: JournalEntry[] = [];
  /** How much of the file was read. */
  #position = 0;
  /** The beginning of a line that is not whole yet. */
  #unread: Buffer | undefined;

  constructor(file: string) {
    this.file = file;
  }

  /** Everything recorded so far, by all processes of this server. Reads what is new since the last time. */
  lines(): JournalEntry[] {
    if (this.#unread === undefined && !existsSync(this.file)) return [];
    const fd = openSync(this.file, 'r');
    try {
      this.#read(fd);
    } finally {
      closeSync(fd);
    }
    return [...this.#entries];
  }

  #read(fd: number): void {
    const chunk = Buffer.alloc(fstatSync(fd).size - this.#position);
    this.#position += readSync(fd, chunk, 0, chunk.length, this.#position);
    const text = Buffer.concat([this.#unread ?? Buffer.alloc(0), chunk]);
    const end = text.lastIndexOf('\n') + 1;
    this.#unread = text.subarray(end);
    for (const line of text.toString('utf8', 0, end).split('\n').slice(0, -1)) {
      this.#entries.push(JSON.parse(line) as JournalEntry);
    }
  }

  /** The messages received so far, optionally only those with this method. */
  messages(method?: string): JournalMessage[] {
    return this.lines()
      .filter((entry) => entry.kind === 'in')
      .map((entry) => ({ ...parseMessage(entry.raw), pid: entry.pid }))
      .filter((message) => method === undefined || message.method === method);
  }

  /** The pids of the processes that recorded this event. */
  pidsOf(event: string): number[] {
    const events = this.lines().filter((entry) => entry.kind === 'event' && entry.raw === event);
    return events.map((entry) => entry.pid);
  }

  /** The pids of the processes started so far. */
  get starts(): number[] {
    return this.pidsOf('start');
  }

  /** The first message that fits, waiting for it. */
  waitFor(
    fits: (message: JournalMessage) => boolean,
    timeoutMs = PATIENCE_MS,
  ): Promise<JournalMessage> {
    const what = `a fitting message in the journal ${this.file}`;
    return until(() => this.messages().find(fits), { what, timeoutMs });
  }

  /** Waits for an event. @returns the pid of the first process that recorded it. */
  async waitForEvent(event: string, timeoutMs = PATIENCE_MS): Promise<number> {
    const what = `event ${event} in the journal ${this.file}`;
    return await until(() => this.pidsOf(event)[0], { what, timeoutMs });
  }
}

export interface ScriptedOptions {
  /** Switches of the scripted server, as its file lists them. */
  readonly args?: readonly string[];
  /** Further keys of the `servers:` entry: `sharing`, `timeouts`, ... */
  readonly config?: ServerConfig;
}

export interface ScriptedServer {
  readonly config: ServerConfig;
  readonly journal: Journal;
}

/** A fresh scripted MCP server with its own journal. */
export function scriptedServer(options: ScriptedOptions = {}): ScriptedServer {
  return fixtureServer('scripted.ts', options);
}

/** A fresh fixture server of another kind; all take `--journal`. */
export function fixtureServer(file: string, options: ScriptedOptions = {}): ScriptedServer {
  const journal = new Journal(join(tempDir(), 'journal.jsonl'));
  const args = [join(FIXTURES, file), '--journal', journal.file, ...(options.args ?? [])];
  return { config: { command: process.execPath, args, ...CACHE, ...options.config }, journal };
}
