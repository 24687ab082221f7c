// Which of the lines that a process wrote last says why it ended. What names the error is often not the
// last one: runtimes print a stack behind it, package managers and command lines where to read on.

/** Lines that are looked at. */
const MAX_LINES = 40;
/** More than is ever shown of one. */
const MAX_LENGTH = 400;

/** `TypeError: ...`, `error: ...`, `Error ...`, `panic: ...` */
const LABEL = /^\s*(?:\w*(?:error|exception|panic|fatal)\b[^:]*:|error\b)/i;
const WORD = /\b(?:err|error|fatal|panicked)\b/i;
/** `ENOENT`, `E404` */
const CODE = /\bE(?:[A-Z]{3,}|\d{3})\b/;
const FAILURE =
  /\b(?:can ?not|can['’]t|could not|unable to|not found|no such|denied|refused|failed|missing|required|invalid|is not set|no module named)\b/i;
/** Stacks, versions of runtimes, and where to read on. */
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

/** The last lines of one process. */
export class LastStderrLine {
  readonly #lines: string[] = [];
  /** Where the next line goes. */
  #next = 0;

  push(line: string): void {
    this.#lines[this.#next] = line.slice(0, MAX_LENGTH);
    this.#next = (this.#next + 1) % MAX_LINES;
  }

  /**
   * The line that most likely says why it ended, or the last two that do so equally well; empty when it
   * wrote nothing.
   */
  get text(): string {
    const lines = [...this.#lines.slice(this.#next), ...this.#lines.slice(0, this.#next)];
    const scores = lines.map(scoreOf);
    const best = Math.max(...scores);
    // Where no line tells more than another, it is the last one.
    const count = best > 0 ? 2 : 1;
    const likely = lines.filter((_, at) => scores[at] === best);
    return [...new Set(likely)].slice(-count).join('; ');
  }
}
