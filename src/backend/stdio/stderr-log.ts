// What a child writes to stderr: always drained, logged line by line at debug, bounded in line
// length and in lines a second (reliability.md F38).
import { monotonicMs } from '../../base/clock.ts';
import type { Logger } from '../../observe/logger.ts';

const MAX_LINE_BYTES = 16 * 1024;
const MAX_LINES_PER_SECOND = 200;
const ERROR_LINE = /^\s*(?:\w*(?:error|exception|panic|fatal)\b[^:]*:|error\b)/i;

/** Logs one child's stderr. */
export class StderrLog {
  readonly #logger: Logger;
  #rest = '';
  #windowStartMs = 0;
  #linesInWindow = 0;
  #dropped = 0;
  #lastLine = '';
  #lastError = '';

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** The last line that names an error, else the last one: often why the child ended. */
  get lastLine(): string {
    return this.#lastError === '' ? this.#lastLine : this.#lastError;
  }

  push(chunk: Buffer): void {
    const lines = (this.#rest + chunk.toString('utf8')).split('\n');
    this.#rest = (lines.pop() ?? '').slice(0, MAX_LINE_BYTES);
    for (const line of lines) this.#log(line.slice(0, MAX_LINE_BYTES).trimEnd());
  }

  /** Logs what is left when the child is gone. */
  flush(): void {
    if (this.#rest !== '') this.#log(this.#rest);
    this.#rest = '';
    this.#summarise();
  }

  #log(line: string): void {
    if (line === '') return;
    this.#lastLine = line;
    // What a runtime prints behind the error itself (a stack, its own version) says less.
    if (ERROR_LINE.test(line)) this.#lastError = line;
    const nowMs = monotonicMs();
    if (nowMs - this.#windowStartMs >= 1_000) {
      this.#summarise();
      this.#windowStartMs = nowMs;
      this.#linesInWindow = 0;
    }
    if (++this.#linesInWindow > MAX_LINES_PER_SECOND) this.#dropped++;
    else this.#logger.debug({ line }, 'server stderr');
  }

  #summarise(): void {
    if (this.#dropped === 0) return;
    this.#logger.debug({ dropped: this.#dropped }, 'server stderr: too many lines, some dropped');
    this.#dropped = 0;
  }
}
