// Whether a server is known to be legacy, for all its instances and restarts. Probing costs seconds if a
// server ignores the probe, and a start if it ends at the probe. The result is valid for one version of the
// server's program.
import type { ServerIdentity } from '../ports/lease.ts';
import { isEndedByItself, sessionWasRefused } from './end-reasons.ts';
import type { HandshakeKind } from './handshake.ts';
import type { ServerOptions } from './options.ts';

/** What is known about one server. */
export class KnownEra {
  /** The version of the program for which it is known. */
  #program: string | undefined;
  #legacy: 'found' | 'presumed' | undefined;

  /** Whether this version of the program need not be probed. */
  isLegacy(program: string): boolean {
    return this.#program === program && this.#legacy !== undefined;
  }

  /** A handshake is done. */
  found(program: string, isLegacy: boolean): void {
    this.#program = program;
    this.#legacy = isLegacy ? 'found' : undefined;
  }

  /** The server ended at the probe, which proves nothing. */
  presume(program: string): void {
    if (this.isLegacy(program)) return;
    this.#program = program;
    this.#legacy = 'presumed';
  }

  /**
   * A handshake failed.
   * @param isRefused whether the server refused the legacy handshake
   */
  failed(program: string, isRefused: boolean): void {
    if (this.#program !== program) return;
    if (isRefused || this.#legacy === 'presumed') this.#legacy = undefined;
  }
}

/** Reasons of a server that refuses the legacy handshake. */
const REFUSED = /^(?:initialize was refused|no valid answer to initialize)/;

/**
 * Chooses the next handshake of one instance, from its earlier starts: which era to try, and whether to check
 * the session.
 */
export class EraSearch {
  readonly #configured: HandshakeKind['era'];
  readonly #known: KnownEra;
  #program = '';
  #isAsking = false;
  #isTrying = false;
  /** It ended at the probe, so the next start does not probe. */
  #hasEnded = false;
  #needsCheck = false;

  /** @param known shared by all instances of the server */
  constructor({ era }: Pick<ServerOptions, 'era'>, known: KnownEra) {
    this.#configured = era;
    this.#known = known;
  }

  /**
   * A handshake begins.
   * @param program identifies the program and its version; empty if it is not known
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

  /** The server ended, or could not be started. If it was only presumed to be legacy, it is probed again. */
  failed(reason: string): void {
    if (this.#isTrying) this.#known.failed(this.#program, REFUSED.test(reason));
    this.#isTrying = false;
    this.#needsCheck ||= sessionWasRefused(reason);
  }

  /**
   * Whether the server ended because of the probe: some end on any message before `initialize`. The next
   * start does not probe.
   */
  explains(reason: string): boolean {
    if (!this.#isAsking || !isEndedByItself(reason)) return false;
    this.#isAsking = false;
    this.#hasEnded = true;
    this.#known.presume(this.#program);
    return true;
  }
}
