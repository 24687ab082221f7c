/**
 * What a gateway writes to stderr, as log lines. Each is parsed once, and who waits for one is told when it
 * is written.
 */
import { within } from './until.ts';

export type LogLine = Readonly<Record<string, unknown>>;

export class GatewayLog {
  /** All of it as it was written. */
  text = '';
  readonly #lines: LogLine[] = [];
  #rest = '';
  #onWrite = new Set<() => void>();
  #end: string | undefined;

  /** The lines so far; one that is not JSON becomes `{ unparsed }`. */
  get lines(): LogLine[] {
    return this.#rest === '' ? [...this.#lines] : [...this.#lines, parsed(this.#rest)];
  }

  write(text: string): void {
    this.text += text;
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') this.#lines.push(parsed(line));
    this.#tell();
  }

  /** Says that nothing will be written any more, and why. */
  close(why: string): void {
    this.#end = why;
    this.#tell();
  }

  /** The first line that fits, waiting for it. @throws Error with the log when there is none */
  async waitFor(fits: (line: LogLine) => boolean, timeoutMs: number): Promise<LogLine> {
    const { promise, resolve } = Promise.withResolvers<LogLine | undefined>();
    let seen = 0;
    const look = (): void => {
      const found = this.#lines.slice(seen).find(fits);
      seen = this.#lines.length;
      if (found !== undefined || this.#end !== undefined) resolve(found);
    };
    this.#onWrite.add(look);
    try {
      look();
      const found = await within(promise, timeoutMs, 'a log line');
      if (found !== undefined) return found;
    } catch (cause) {
      throw new Error(`no such log line:\n${this.text}`, { cause });
    } finally {
      this.#onWrite.delete(look);
    }
    throw new Error(`the gateway ended with ${this.#end}:\n${this.text}`);
  }

  #tell(): void {
    for (const look of this.#onWrite) look();
  }
}

function parsed(line: string): LogLine {
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return { unparsed: line };
  }
}
