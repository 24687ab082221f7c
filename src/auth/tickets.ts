// Tickets for browsers, which can't send headers with a WebSocket or an EventSource. A client gets one with
// its credentials. It is valid once, for 30 s, at one endpoint. Unlike credentials, it may be part of a URL.
import { randomBytes } from 'node:crypto';
import { monotonicMs } from '../base/clock.ts';
import { type Principal, quotaKeyOf } from '../ports/principal.ts';

const LIFE_MS = 30_000;
const MAX_TICKETS = 10_000;
const MAX_PER_PRINCIPAL = 100;

interface Ticket {
  readonly principal: Principal;
  readonly endpoint: string;
  readonly endMs: number;
}

/** A new ticket. */
export interface IssuedTicket {
  readonly ticket: string;
  /** In seconds. */
  readonly expiresIn: number;
}

/** Tickets that were not used yet. */
export class Tickets {
  /** Oldest first, so the first ones expire first. */
  readonly #open = new Map<string, Ticket>();

  /** @returns undefined if there are too many */
  issue(principal: Principal, endpoint: string): IssuedTicket | undefined {
    this.#forgetOld();
    const quotaKey = quotaKeyOf(principal);
    let own = 0;
    for (const ticket of this.#open.values()) if (quotaKeyOf(ticket.principal) === quotaKey) own++;
    if (own >= MAX_PER_PRINCIPAL || this.#open.size >= MAX_TICKETS) return undefined;
    const ticket = randomBytes(32).toString('base64url');
    this.#open.set(ticket, { principal, endpoint, endMs: monotonicMs() + LIFE_MS });
    return { ticket, expiresIn: LIFE_MS / 1_000 };
  }

  /** Uses a ticket. @returns undefined if it is not valid for this endpoint */
  redeem(ticket: string, endpoint: string): Principal | undefined {
    const found = this.#open.get(ticket);
    this.#open.delete(ticket);
    const isGood = found?.endpoint === endpoint && found.endMs > monotonicMs();
    return isGood ? found.principal : undefined;
  }

  #forgetOld(): void {
    const nowMs = monotonicMs();
    for (const [id, { endMs }] of this.#open) {
      if (endMs > nowMs) break;
      this.#open.delete(id);
    }
  }
}
