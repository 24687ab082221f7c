// The modern requests in flight of one listener: counted, so that a stop can wait for them.

import { LISTEN } from '../mcp/modern-methods.ts';
import type { ClientExchange, ExchangeOwner } from './client-exchange.ts';

/** Modern requests that are not answered yet. */
export class ModernRequests implements ExchangeOwner {
  readonly #open = new Set<ClientExchange>();

  /** Requests in flight; listen streams don't count, since they never end by themselves. */
  get pending(): number {
    let pending = 0;
    for (const { frame } of this.#open) if (frame.method !== LISTEN) pending++;
    return pending;
  }

  add(exchange: ClientExchange): void {
    this.#open.add(exchange);
  }

  settled(exchange: ClientExchange): void {
    this.#open.delete(exchange);
  }

  /** Cancels what is left. */
  close(): void {
    for (const exchange of [...this.#open]) exchange.cancel(undefined);
  }
}
