// Event streams and WebSockets that clients keep open. Counts them for each principal, and ends them when the
// principal would no longer be accepted: a revoked key, an expired token (docs/reliability.md#g08).
import { type Principal, quotaKeyOf } from '../ports/principal.ts';

const MAX_OPEN = 20_000;

/** A stream that a client keeps open. */
export interface OpenStream {
  readonly principal: Principal;
  /** Ends the stream; it then calls `release`. */
  end(): void;
}

export interface OpenStreamRules {
  /** Whether a principal would still be accepted. */
  holds(principal: Principal): boolean;
  /** The limit for one principal; undefined: no limit. */
  readonly maxPerPrincipal: number | undefined;
}

/** All open streams. */
export class OpenStreams {
  readonly #rules: OpenStreamRules;
  readonly #open = new Set<OpenStream>();
  readonly #perPrincipal = new Map<string, number>();

  constructor(rules: OpenStreamRules) {
    this.#rules = rules;
  }

  /** The limit that is reached for this principal, if any. */
  refusal(principal: Principal): 'all' | 'own' | undefined {
    const { maxPerPrincipal } = this.#rules;
    const own = this.#perPrincipal.get(quotaKeyOf(principal)) ?? 0;
    if (maxPerPrincipal !== undefined && own >= maxPerPrincipal) return 'own';
    return this.#open.size >= MAX_OPEN ? 'all' : undefined;
  }

  take(openStream: OpenStream): void {
    this.#open.add(openStream);
    const key = quotaKeyOf(openStream.principal);
    this.#perPrincipal.set(key, (this.#perPrincipal.get(key) ?? 0) + 1);
  }

  release(openStream: OpenStream): void {
    if (!this.#open.delete(openStream)) return;
    const key = quotaKeyOf(openStream.principal);
    const own = (this.#perPrincipal.get(key) ?? 1) - 1;
    if (own === 0) this.#perPrincipal.delete(key);
    else this.#perPrincipal.set(key, own);
  }

  /** Ends streams of principals that would no longer be accepted. */
  sweep(): void {
    for (const openStream of [...this.#open])
      if (!this.#rules.holds(openStream.principal)) openStream.end();
  }
}
