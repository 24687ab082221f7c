// Texts that contain files, with their current content. The files are read again when a text is used, at most
// once a second, and when the server has refused what was sent. If a file can't be read, or its content can't
// be sent, the old value stays.
import { readSecretFile, UnusableFile } from '../../base/bounded-file.ts';
import { monotonicMs } from '../../base/clock.ts';
import { rendered, seenText, type TextTemplate } from '../../base/text-template.ts';
import type { Logger } from '../../observe/logger.ts';

const LOOK_MS = 1_000;

/** Some texts by name. */
export class TemplateValues {
  readonly #texts: readonly (readonly [string, TextTemplate])[];
  readonly #isFit: (value: string) => boolean;
  readonly #logger: Logger;
  #values: Readonly<Record<string, string>>;
  #lookedMs = monotonicMs();
  #complaint = '';

  /**
   * @param texts only those that may change
   * @param isFit whether a new value can be used
   */
  constructor(
    texts: Readonly<Record<string, TextTemplate>>,
    isFit: (value: string) => boolean,
    logger: Logger,
  ) {
    this.#texts = Object.entries(texts);
    this.#isFit = isFit;
    this.#logger = logger;
    this.#values = Object.fromEntries(this.#texts.map(([name, text]) => [name, seenText(text)]));
  }

  /** The current values. */
  current(): Readonly<Record<string, string>> {
    if (monotonicMs() - this.#lookedMs >= LOOK_MS) this.look();
    return this.#values;
  }

  /** Reads the files again. @returns whether a value has changed */
  look(): boolean {
    this.#lookedMs = monotonicMs();
    if (this.#texts.length === 0) return false;
    try {
      const now = this.#texts.map(([name, text]) => [name, this.#read(name, text)] as const);
      const isChanged = now.some(([name, value]) => this.#values[name] !== value);
      if (isChanged) {
        this.#values = Object.fromEntries(now);
        this.#logger.info({ names: now.map(([name]) => name) }, 'secrets read again');
      }
      this.#complaint = '';
      return isChanged;
    } catch (error) {
      if (!(error instanceof UnusableFile)) throw error;
      this.#complain(error.message);
      return false;
    }
  }

  #read(name: string, text: TextTemplate): string {
    const whole = rendered(text, (part) => (part.kind === 'file' ? readSecretFile(part.path) : ''));
    if (!this.#isFit(whole)) throw new UnusableFile(`what is in it can't be sent as ${name}`);
    return whole;
  }

  /** Logged once for each reason. */
  #complain(why: string): void {
    if (this.#complaint === why) return;
    this.#complaint = why;
    const names = this.#texts.map(([name]) => name);
    this.#logger.warn({ names, why }, 'secrets not read again, the old ones stay');
  }
}
