// A modern request: it has no session, so all that is known of its client comes with it.
import type { Envelope } from '../mcp/envelope.ts';
import type { Exchange } from './exchange.ts';

/** One modern request in flight. */
export interface ModernExchange extends Exchange {
  readonly envelope: Envelope;
  /** Headers of the HTTP request by lower-case name; undefined on transports that have none. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>> | undefined;
}
