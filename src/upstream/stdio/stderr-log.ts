// The stderr of a child. It is always read, and logged line by line at debug, with limits for the length of a
// line and for lines in a second (docs/reliability.md#f38).
import { monotonicMs } from '../../base/clock.ts';
import type { TurnQuota } from '../../base/turns.ts';
import { LineFraming } from '../../jsonrpc/line-framing.ts';
import type { Logger } from '../../observe/logger.ts';
import type { OutputConsumer } from './child-output.ts';

const MAX_LINE_BYTES = 16 * 1024;
const MAX_LINES_PER_SECOND = 200;
/** What is kept of a line that is too long. */
const KEPT_BYTES = 1024;

/** Lines that are examined. */
const MAX_LINES = 40;
/** More of a line is never shown. */
const MAX_LENGTH = 400;

/** `TypeError: ...`, `error: ...`, `Error ...`, `panic: ...` */
const LABEL = /^\s*(?:\w*(?:error|exception|panic|fatal)\b[^:]*:|error\b)/i;
const WORD = /\b(?:err|error|fatal|panicked)\b/i;
/** `ENOENT`, `E404` */
const CODE = /\bE(?:[A-Z]{3,}|\d{3})\b/;
const FAILURE =
  /\b(?:can ?not|can['’]t|could not|unable to|not found|no such|denied|refused|failed|missing|required|invalid|is not set|no module named)\b/i;
/** Stack traces, versions of runtimes, and hints where to read more. */
const TRAILER =
  /^\s*(?:at |File "|node\.js v\d|note: |usage:|goroutine \d|exit status \d|traceback )|--help\b|complete log of this run|_BACKTRACE=/i;

function scoreOf(line: string): number {
  if (TRAILER.test(line)) return -1;
  let score = 0;
  if (LABEL.test(line)) score += 4;
  if (WORD.test(line)) score += 1;
  if (CODE.test(line)) score += 2;
  if (FAILURE.test(line)) score += 2;
  return score;
}

/**
 * Finds the line that explains why a process ended. The line with the error is often not the last one:
 * runtimes print a stack trace after it, package managers and command lines a hint where to read more.
 */
export class LastStderrLine {
  readonly #lines: string[] = [];
  /** The position of the next line. */
  #next = 0;

  push(line: string): void {
    this.#lines[this.#next] = line.slice(0, MAX_LENGTH);
    this.#next = (this.#next + 1) % MAX_LINES;
  }

  /**
   * The line that most likely explains the end, or the last two that are equally likely; empty if there was
   * no output.
   */
  get text(): string {
    const lines = [...this.#lines.slice(this.#next), ...this.#lines.slice(0, this.#next)];
    const scores = lines.map(scoreOf);
    const best = Math.max(...scores);
    // If no line is better than the others, the last one is used.
    const count = best > 0 ? 2 : 1;
    const likely = lines.filter((_, at) => scores[at] === best);
    return [...new Set(likely)].slice(-count).join('; ');
  }
}

/** Logs one child's stderr. */
export class StderrLog implements OutputConsumer {
  readonly #logger: Logger;
  readonly #framing: LineFraming;
  readonly #lastStderrLine = new LastStderrLine();
  #windowStartMs = 0;
  #linesInWindow = 0;
  #dropped = 0;

  /**
   * @param quota what it may cost in one turn of the event loop
   * @param wrote called with the number of bytes that were written
   */
  constructor(logger: Logger, quota?: TurnQuota, wrote: (bytes: number) => void = () => undefined) {
    this.#logger = logger;
    const events = {
      line: (bytes: Buffer) => {
        wrote(bytes.length);
        this.#log(bytes);
      },
      oversize: (head: Buffer) => this.#log(head.subarray(0, MAX_LINE_BYTES)),
      wasted: wrote,
    };
    this.#framing = new LineFraming(MAX_LINE_BYTES, events, quota);
  }

  /** The line that most likely explains why the child ended. */
  get lastLine(): string {
    return this.#lastStderrLine.text;
  }

  push(chunk: Buffer): boolean {
    return this.#framing.push(chunk);
  }

  goOn(): boolean {
    return this.#framing.goOn();
  }

  /** Logs the rest when the child is gone. */
  flush(): void {
    this.#framing.end();
    this.#summarise();
  }

  #log(bytes: Buffer): void {
    const nowMs = monotonicMs();
    if (nowMs - this.#windowStartMs >= 1_000) {
      this.#summarise();
      this.#windowStartMs = nowMs;
      this.#linesInWindow = 0;
    }
    const isDropped = ++this.#linesInWindow > MAX_LINES_PER_SECOND;
    const line = bytes.toString('utf8', 0, isDropped ? KEPT_BYTES : MAX_LINE_BYTES).trimEnd();
    if (line === '') return;
    this.#lastStderrLine.push(line);
    if (isDropped) this.#dropped++;
    else this.#logger.debug({ line }, 'server stderr');
  }

  #summarise(): void {
    if (this.#dropped === 0) return;
    this.#logger.debug({ dropped: this.#dropped }, 'server stderr: too many lines, some dropped');
    this.#dropped = 0;
  }
}
