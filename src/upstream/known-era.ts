// Whether a server is known to be of the session era, for all of its instances and their restarts: to ask costs
// seconds at one that says nothing to it, and a start at one that ends at it. It holds for one version of the
// server's program. In memory; whoever keeps it for longer replaces KnownEra.
import type { ServerIdentity } from '../ports/lease.ts';
import { isEndedByItself, sessionWasRefused } from './end-reasons.ts';
import type { HandshakeKind } from './handshake.ts';
import type { ServerOptions } from './options.ts';

/** What is known of one server. */
export class KnownEra {
  /** Which version of the program it was found out of. */
  #program: string | undefined;
  #legacy: 'found' | 'presumed' | undefined;

  /** Whether this version of the program need not be asked. */
  isLegacy(program: string): boolean {
    return this.#program === program && this.#legacy !== undefined;
  }

  /** A handshake is done. */
  found(program: string, isLegacy: boolean): void {
    this.#program = program;
    this.#legacy = isLegacy ? 'found' : undefined;
  }

  /** It ended at the probe, which is no proof. */
  presume(program: string): void {
    if (this.isLegacy(program)) return;
    this.#program = program;
    this.#legacy = 'presumed';
  }

  /**
   * A handshake failed.
   * @param isRefused whether the server took no handshake of the session era
   */
  failed(program: string, isRefused: boolean): void {
    if (this.#program !== program) return;
    if (isRefused || this.#legacy === 'presumed') this.#legacy = undefined;
  }
}

/** A server that takes no handshake of the session era. */
const REFUSED = /^(?:initialize was refused|no valid answer to initialize)/;

/**
 * What earlier starts of one instance say of how its next handshake has to be: which era it asks for, and
 * whether the server's word is enough.
 */
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
