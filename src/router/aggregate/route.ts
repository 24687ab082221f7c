// Where a request goes, once that is known.
import type { GatewayError } from '../../base/errors.ts';
import type { OfferedEntry } from '../../catalog/listing.ts';
import type { WireError } from '../../jsonrpc/error.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import type { Denial } from '../../ports/principal.ts';
import type { Member } from './member.ts';

/** A server, and the request in its own words. */
export interface Candidate {
  readonly member: Member;
  readonly frame: Frame;
  /** The arguments are others than those whose copies stand in the client's headers. */
  readonly isReworded?: boolean;
}

/** Where a request goes. */
export type Route =
  | {
      readonly kind: 'refused';
      readonly error: WireError;
      /** The rules are why, and that is told openly. */
      readonly denial?: Denial;
    }
  /** There may be such a thing, but its server can't be had. */
  | { readonly kind: 'failed'; readonly failure: GatewayError }
  /** The gateway has the answer: a result as the session era writes it. */
  | { readonly kind: 'answered'; readonly result: Buffer }
  /** To the server that has it; `entry` is a tool or prompt from its lists. */
  | { readonly kind: 'to'; readonly candidate: Candidate; readonly entry?: OfferedEntry }
  /** To the servers that may have it, one after the other, the likeliest first. */
  | { readonly kind: 'inTurn'; readonly candidates: readonly Candidate[] };
