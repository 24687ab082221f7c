// Finds out which era a server is of, over its starts: what was found once is not asked again.
import type { ServerIdentity } from '../ports/seat.ts';
import { isEndedByItself } from './end-reasons.ts';
import type { EraChoice } from './handshake.ts';
import type { ServerOptions } from './options.ts';

/** What is known of the era of one server. */
export class EraSearch {
  readonly #configured: EraChoice;
  /** The server was found not to be modern, or did not survive the question. */
  #isLegacy = false;
  #isAsking = false;

  constructor({ era }: Pick<ServerOptions, 'era'>) {
    this.#configured = era;
  }

  /**
   * A handshake begins.
   * @returns with which era
   */
  begin(): EraChoice {
    const choice = this.#configured === 'auto' && this.#isLegacy ? 'legacy' : this.#configured;
    this.#isAsking = choice === 'auto';
    return choice;
  }

  /** A handshake is done. */
  found(era: ServerIdentity['era'] | undefined): void {
    this.#isAsking = false;
    this.#isLegacy = era === 'legacy';
  }

  /** Not every server that ends at the first question is legacy: unless one was, it is asked again. */
  failed(era: ServerIdentity['era'] | undefined): void {
    this.#isLegacy = era === 'legacy';
  }

  /**
   * Whether the server ended since it was asked: some end on any message before `initialize`. The
   * next start does without.
   */
  explains(reason: string): boolean {
    if (!this.#isAsking || !isEndedByItself(reason)) return false;
    this.#isAsking = false;
    this.#isLegacy = true;
    return true;
  }
}
