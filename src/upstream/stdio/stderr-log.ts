// What a child writes to stderr: always drained, logged line by line at debug, bounded in line
// length and in lines a second (docs/reliability.md#f38).
import { monotonicMs } from '../../base/clock.ts';
import type { TurnQuota } from '../../base/turns.ts';
import { LineFraming } from '../../jsonrpc/line-framing.ts';
import type { Logger } from '../../observe/logger.ts';
import type { OutputConsumer } from './child-output.ts';
import { LastStderrLine } from './last-stderr-line.ts';

const MAX_LINE_BYTES = 16 * 1024;
const MAX_LINES_PER_SECOND = 200;
/** What is kept of a line that is not logged. */
const KEPT_BYTES = 1024;

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
   * @param wrote told how much came
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

  /** What it said last that tells most: often why the child ended. */
  get lastLine(): string {
    return this.#lastStderrLine.text;
  }

  push(chunk: Buffer): boolean {
    return this.#framing.push(chunk);
  }

  goOn(): boolean {
    return this.#framing.goOn();
  }

  /** Logs what is left when the child is gone. */
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
