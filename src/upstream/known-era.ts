// Whether a server is known to be of the session era, for all of its instances and their restarts:
// the server request costs seconds at one that says nothing to it, and a start at one that ends at
// it. It holds for one version of the server's program. In memory; whoever keeps it for longer
// replaces this class.

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
