// What the next process must know about sessions and can't read from their ids: which sessions have ended,
// and the log level and subscriptions of the others. The digest of its id stands for a session. The record is
// in memory; with a data folder, each change is also a line of a journal.
import { monotonicMs, wallClockMs } from '../base/clock.ts';
import { parseText } from '../jsonrpc/parse.ts';
import { jsonText } from '../jsonrpc/serialize.ts';
import { type LoggingLevel, levelOf, severityOf } from '../mcp/log-levels.ts';
import { EndedSessions } from './ended-sessions.ts';
import { digestOf } from './session-ids.ts';

/** At least this many ended sessions are remembered; more if `sessions.max` is higher. */
const MIN_ENDED = 10_000;
/** Limits of one session; the client must repeat further subscriptions after a restart. */
const MAX_URIS = 200;
const MAX_URI_BYTES = 16 * 1024;
/** Limit of all sessions together. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Expiry of sessions without an age limit: the largest number that JSON keeps exactly. */
const NEVER = Number.MAX_SAFE_INTEGER;

/** The session that an entry is about. */
export interface RecordedSession {
  readonly id: string;
  /** Milliseconds of the monotonic clock. */
  readonly openedMs: number;
}

/** The log level and the subscriptions of a session. */
export interface WantedMessages {
  readonly level: LoggingLevel | undefined;
  readonly uris: Iterable<string>;
}

class Entry implements WantedMessages {
  readonly untilMs: number;
  readonly uris = new Set<string>();
  level: LoggingLevel | undefined;
  bytes = 0;

  constructor(untilMs: number) {
    this.untilMs = untilMs;
  }

  get isEmpty(): boolean {
    return this.uris.size === 0 && this.level === undefined;
  }
}

/** The record of all sessions. */
export class SessionRecord {
  readonly #max: number;
  readonly #maxAgeMs: number;
  readonly #ended: EndedSessions;
  /** Key: digest of the session id. The oldest entry is first. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;
  #append: ((line: string) => void) | undefined;

  constructor({ max, maxAge }: { readonly max: number; readonly maxAge?: number }) {
    this.#max = max;
    this.#maxAgeMs = maxAge ?? NEVER;
    this.#ended = new EndedSessions(Math.max(max, MIN_ENDED));
  }

  /** Whether there is a journal. Without one, log levels and subscriptions need not be recorded. */
  get isKept(): boolean {
    return this.#append !== undefined;
  }

  /** Sets the function that gets a line for each change from now on. */
  keepWith(append: (line: string) => void): void {
    this.#append = append;
  }

  /** When a session reaches its age limit, in milliseconds of the wall clock, like `openedAtMs`. */
  expiryOf(openedAtMs: number): number {
    return Math.min(openedAtMs + this.#maxAgeMs, NEVER);
  }

  hasEnded(id: string): boolean {
    return this.#ended.has(digestOf(id));
  }

  wantedBy(id: string): WantedMessages | undefined {
    return this.#entries.get(digestOf(id));
  }

  /** Records that a session was ended. @param openedAtMs milliseconds of the wall clock */
  ended(id: string, openedAtMs: number): void {
    const digest = digestOf(id);
    const untilMs = this.expiryOf(openedAtMs);
    this.#remove(digest);
    this.#ended.add(digest, untilMs);
    this.#append?.(jsonText(['end', digest, untilMs]));
  }

  /** Removes a session that ended without a request to end it. */
  forget(id: string): void {
    const digest = digestOf(id);
    if (this.#remove(digest)) this.#append?.(jsonText(['gone', digest]));
  }

  setLevel(session: RecordedSession, level: LoggingLevel): void {
    const digest = digestOf(session.id);
    const untilMs = this.#expiry(session);
    this.#entry(digest, untilMs).level = level;
    this.#append?.(jsonText(['level', digest, untilMs, level]));
  }

  watch(session: RecordedSession, uri: string): void {
    const digest = digestOf(session.id);
    const untilMs = this.#expiry(session);
    if (!this.#watch(digest, untilMs, uri)) return;
    this.#append?.(jsonText(['watch', digest, untilMs, uri]));
  }

  unwatch({ id }: RecordedSession, uri: string): void {
    const digest = digestOf(id);
    if (this.#unwatch(digest, uri)) this.#append?.(jsonText(['unwatch', digest, uri]));
  }

  /** About how many lines `lines()` returns. */
  get size(): number {
    let size = this.#ended.size;
    for (const { uris } of this.#entries.values()) size += 1 + uris.size;
    return size;
  }

  /** The record without expired entries, as lines. */
  lines(): string[] {
    const nowMs = wallClockMs();
    const lines: string[] = [];
    for (const [digest, untilMs] of this.#ended.all) {
      if (untilMs <= nowMs) this.#ended.remove(digest);
      else lines.push(jsonText(['end', digest, untilMs]));
    }
    for (const [digest, { untilMs, level, uris }] of this.#entries) {
      if (untilMs <= nowMs) {
        this.#remove(digest);
        continue;
      }
      if (level !== undefined) lines.push(jsonText(['level', digest, untilMs, level]));
      for (const uri of uris) lines.push(jsonText(['watch', digest, untilMs, uri]));
    }
    return lines;
  }

  /**
   * Reads a line that an earlier process wrote.
   * @returns false if the line is not valid
   */
  read(line: string): boolean {
    let parts: unknown;
    try {
      parts = parseText(line);
    } catch {
      return false; // an incomplete line of a killed process
    }
    if (!Array.isArray(parts) || typeof parts[1] !== 'string') return false;
    const [kind, digest, third, what] = parts as [unknown, string, unknown, unknown];
    if (kind === 'gone') this.#remove(digest);
    else if (kind === 'unwatch' && typeof third === 'string') this.#unwatch(digest, third);
    else if (typeof third !== 'number') return false;
    else if (third > wallClockMs()) return this.#readLasting(kind, digest, third, what);
    return true;
  }

  #readLasting(kind: unknown, digest: string, untilMs: number, what: unknown): boolean {
    const severity = severityOf(what);
    if (kind === 'end') {
      this.#remove(digest);
      this.#ended.add(digest, untilMs);
    } else if (kind === 'watch' && typeof what === 'string') this.#watch(digest, untilMs, what);
    else if (kind === 'level' && severity !== undefined) {
      this.#entry(digest, untilMs).level = levelOf(severity);
    } else return false;
    return true;
  }

  #expiry({ openedMs }: RecordedSession): number {
    return this.expiryOf(Math.round(wallClockMs() - (monotonicMs() - openedMs)));
  }

  #entry(digest: string, untilMs: number): Entry {
    const known = this.#entries.get(digest);
    if (known !== undefined) return known;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined && this.#entries.size >= this.#max) this.#remove(oldest);
    const entry = new Entry(untilMs);
    this.#entries.set(digest, entry);
    return entry;
  }

  #watch(digest: string, untilMs: number, uri: string): boolean {
    const known = this.#entries.get(digest);
    const bytes = (known?.bytes ?? 0) + uri.length;
    if (known?.uris.has(uri) === true || (known?.uris.size ?? 0) >= MAX_URIS) return false;
    if (bytes > MAX_URI_BYTES || this.#bytes + uri.length > MAX_BYTES) return false;
    const entry = this.#entry(digest, untilMs);
    entry.uris.add(uri);
    entry.bytes = bytes;
    this.#bytes += uri.length;
    return true;
  }

  #unwatch(digest: string, uri: string): boolean {
    const entry = this.#entries.get(digest);
    if (entry?.uris.delete(uri) !== true) return false;
    entry.bytes -= uri.length;
    this.#bytes -= uri.length;
    if (entry.isEmpty) this.#entries.delete(digest);
    return true;
  }

  #remove(digest: string): boolean {
    this.#bytes -= this.#entries.get(digest)?.bytes ?? 0;
    return this.#entries.delete(digest);
  }
}
