// What `log.messages` asks for: a line for each message, with its envelope; at level trace its body
// too, with the texts masked that came from secrets (docs/configuration.md#log).
import type { Logger } from './logger.ts';

/** What a line says of a message. */
export interface MessageLine {
  readonly direction: 'from_client' | 'to_server' | 'from_server';
  readonly kind: string;
  readonly method?: string | undefined;
  /** As JSON text. */
  readonly id?: string | undefined;
  readonly bytes: Buffer;
}

/** Where the message passed. */
export interface MessagePlace {
  readonly server?: string;
  readonly endpoint?: string;
}

const MASK = '***';

/** Logs messages. */
export class MessageLog {
  readonly #logger: Logger;
  #secrets: readonly string[] = [];

  /**
   * @param secrets texts that never reach a log
   */
  constructor(logger: Logger, secrets: Iterable<string>) {
    this.#logger = logger;
    this.mask(secrets);
  }

  /**
   * Masks others from now on.
   * @param secrets texts that never reach a log
   */
  mask(secrets: Iterable<string>): void {
    // Longer ones first: one may be a part of another.
    this.#secrets = [...secrets]
      .filter((secret) => secret !== '')
      .sort((a, b) => b.length - a.length);
  }

  /** Logs one message. */
  log(line: MessageLine, place: MessagePlace): void {
    const { direction, kind, method, id, bytes } = line;
    const fields = { ...place, direction, kind, method, id, bytes: bytes.length };
    if (!this.#logger.isLevelEnabled('trace')) {
      this.#logger.info(fields, 'message');
      return;
    }
    this.#logger.info({ ...fields, body: this.#masked(bytes.toString('utf8')) }, 'message');
  }

  #masked(text: string): string {
    return this.#secrets.reduce((masked, secret) => masked.replaceAll(secret, MASK), text);
  }
}
