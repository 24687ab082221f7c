// What earlier starts of a server say of how the next handshake has to be: which era it is of, which
// is not asked again once it was found, and whether its word is enough.
import type { ServerIdentity } from '../ports/seat.ts';
import { isEndedByItself, sessionWasRefused } from './end-reasons.ts';
import type { HandshakeKind } from './handshake.ts';
import type { ServerOptions } from './options.ts';

/** What is known of the era of one server. */
export class EraSearch {
  readonly #configured: HandshakeKind['era'];
  /** The server was found not to be modern, or did not survive the question. */
  #isLegacy = false;
  #isAsking = false;
  #needsCheck = false;

  constructor({ era }: Pick<ServerOptions, 'era'>) {
    this.#configured = era;
  }

  /** A handshake begins. */
  begin(): HandshakeKind {
    const era = this.#configured === 'auto' && this.#isLegacy ? 'legacy' : this.#configured;
    this.#isAsking = era === 'auto';
    return { era, isChecked: this.#needsCheck };
  }

  /** A handshake is done. */
  found(era: ServerIdentity['era'] | undefined): void {
    this.#isAsking = false;
    this.#isLegacy = era === 'legacy';
    this.#needsCheck = false;
  }

  /** Not every server that ends at the first question is legacy: unless one was, it is asked again. */
  failed(era: ServerIdentity['era'] | undefined, reason: string): void {
    this.#isLegacy = era === 'legacy';
    this.#needsCheck ||= sessionWasRefused(reason);
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
