// Caps over the processes of all servers: how many private ones there may be, and how many may be
// starting at once (design.md 5.1).
import { GatewayError } from '../base/errors.ts';
import type { ProcessOptions } from './options.ts';

/** Counts private processes and rations starts. */
export class ProcessBudget {
  readonly #options: ProcessOptions;
  readonly #perPrincipal = new Map<string, number>();
  #total = 0;
  #starting = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(options: ProcessOptions) {
    this.#options = options;
  }

  /** Private processes in all. */
  get total(): number {
    return this.#total;
  }

  /**
   * Takes a place for a private process.
   * @throws GatewayError `overloaded` when the principal, or everybody, has the most it may have
   */
  acquire(principalKey: string, server: string): void {
    const own = this.#perPrincipal.get(principalKey) ?? 0;
    const { max, maxPerPrincipal } = this.#options;
    if (this.#total >= max) throw tooMany(server, `${max} in all (processes.max)`);
    if (own >= maxPerPrincipal) {
      throw tooMany(
        server,
        `${maxPerPrincipal} for one user (processes.maxPerPrincipal; without authentication all ` +
          'clients are one user)',
      );
    }
    this.#perPrincipal.set(principalKey, own + 1);
    this.#total++;
  }

  /** Gives a place back. */
  release(principalKey: string): void {
    const own = this.#perPrincipal.get(principalKey) ?? 0;
    if (own <= 1) this.#perPrincipal.delete(principalKey);
    else this.#perPrincipal.set(principalKey, own - 1);
    this.#total--;
  }

  /** Waits for a turn to start a process. Call `started` when the start is over, however it went. */
  async turnToStart(): Promise<void> {
    if (this.#starting < this.#options.maxStarting) {
      this.#starting++;
      return;
    }
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  /** Ends a turn. */
  started(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#starting--;
    else next();
  }
}

function tooMany(server: string, limit: string): GatewayError {
  return new GatewayError(
    'overloaded',
    `Server "${server}" needs a process of its own for this client, and there are ${limit} already.`,
    { outcome: 'not_sent', server },
  );
}
