// The log of messages (`log.messages`): a line for each message, and its body at level trace, with configured
// secrets masked (docs/configuration.md#log).
import type { Logger } from './logger.ts';

/** What a line says about a message. */
export interface MessageLine {
  readonly direction: 'from_client' | 'to_server' | 'from_server';
  readonly kind: string;
  readonly method?: string | undefined;
  /** As JSON text. */
  readonly id?: string | undefined;
  readonly bytes: Buffer;
}

/** Where the message was seen. */
export interface MessagePlace {
  readonly server?: string;
  readonly endpoint?: string;
}

const MASK = '***';

/** Logs messages. */
export class MessageLog {
  readonly #logger: Logger;
  #secrets: readonly string[] = [];

  /** @param secrets texts that must not be logged */
  constructor(logger: Logger, secrets: Iterable<string>) {
    this.#logger = logger;
    this.mask(secrets);
  }

  /**
   * Masks others from now on.
   * @param secrets texts that never reach a log
   */
  mask(secrets: Iterable<string>): void {
    // Longer ones first, because one may be a part of another.
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
