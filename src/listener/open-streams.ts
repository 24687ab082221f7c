// What clients hold open: event streams and WebSockets. Counted for each principal, and ended when the
// principal would not be let in any more: a revoked key, an expired token (docs/reliability.md#g08).
import { type Principal, quotaKeyOf } from '../ports/principal.ts';

const MAX_OPEN = 20_000;

/** Something that is open for a client. */
export interface OpenStream {
  readonly principal: Principal;
  /** Ends what is open; `release` follows. */
  end(): void;
}

export interface OpenStreamRules {
  /** Whether a principal would still be let in. */
  holds(principal: Principal): boolean;
  /** What one principal may hold open; undefined is no limit of its own. */
  readonly maxPerPrincipal: number | undefined;
}

/** Everything that is open. */
export class OpenStreams {
  readonly #rules: OpenStreamRules;
  readonly #open = new Set<OpenStream>();
  readonly #perPrincipal = new Map<string, number>();

  constructor(rules: OpenStreamRules) {
    this.#rules = rules;
  }

  /** Why there is no room for one more of this principal, if there is none. */
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

  /** Ends what is held by principals that would not be let in any more. */
  sweep(): void {
    for (const openStream of [...this.#open])
      if (!this.#rules.holds(openStream.principal)) openStream.end();
  }
}
