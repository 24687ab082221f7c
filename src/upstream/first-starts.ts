// How often a server was started that has never been ready: for a gateway that is of no use without it.

/** Counts for all instances of a server. */
export class FirstStarts {
  readonly #tries: number;
  readonly #gaveUp: (why: string) => void;
  #failures = 0;
  #wasReady = false;

  /** @param gaveUp told once, when that many starts have failed, how the last one did */
  constructor(tries: number, gaveUp: (why: string) => void) {
    this.#tries = tries;
    this.#gaveUp = gaveUp;
  }

  ready(): void {
    this.#wasReady = true;
  }

  failed(why: string): void {
    if (this.#wasReady || ++this.#failures !== this.#tries) return;
    this.#gaveUp(why);
  }
}
