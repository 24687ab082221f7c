// What earlier starts of a server say of how the next handshake has to be: which era it is of, which
// is not asked again once it was found, and whether its word is enough.
import type { ServerIdentity } from '../ports/lease.ts';
import { isEndedByItself, sessionWasRefused } from './end-reasons.ts';
import type { HandshakeKind } from './handshake.ts';
import type { KnownEra } from './known-era.ts';
import type { ServerOptions } from './options.ts';

/** A server that takes no handshake of the session era. */
const REFUSED = /^(?:initialize was refused|no valid answer to initialize)/;

/** The handshakes of one instance. */
export class EraSearch {
  readonly #configured: HandshakeKind['era'];
  readonly #known: KnownEra;
  #program = '';
  #isAsking = false;
  #isTrying = false;
  /** It ended at the probe: the next start does without, whatever is known. */
  #hasEnded = false;
  #needsCheck = false;

  /** @param known shared by all instances of the server */
  constructor({ era }: Pick<ServerOptions, 'era'>, known: KnownEra) {
    this.#configured = era;
    this.#known = known;
  }

  /**
   * A handshake begins.
   * @param program which version of which program is asked; empty where nobody knows
   */
  begin(program: string): HandshakeKind {
    this.#program = program;
    const isLegacy = this.#hasEnded || this.#known.isLegacy(program);
    const era = this.#configured === 'auto' && isLegacy ? 'legacy' : this.#configured;
    this.#hasEnded = false;
    this.#isAsking = era === 'auto';
    this.#isTrying = true;
    return { era, isChecked: this.#needsCheck };
  }

  /** A handshake is done. */
  found(era: ServerIdentity['era'] | undefined): void {
    this.#isAsking = false;
    this.#isTrying = false;
    this.#known.found(this.#program, era === 'legacy');
    this.#needsCheck = false;
  }

  /** The server ended, or did not start. One that was only presumed to be legacy is asked again. */
  failed(reason: string): void {
    if (this.#isTrying) this.#known.failed(this.#program, REFUSED.test(reason));
    this.#isTrying = false;
    this.#needsCheck ||= sessionWasRefused(reason);
  }

  /**
   * Whether the server ended since it was asked: some end on any message before `initialize`. The
   * next start does without.
   */
  explains(reason: string): boolean {
    if (!this.#isAsking || !isEndedByItself(reason)) return false;
    this.#isAsking = false;
    this.#hasEnded = true;
    this.#known.presume(this.#program);
    return true;
  }
}
