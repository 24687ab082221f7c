// Where a request goes, once that is known.
import type { OfferedEntry } from '../../catalog/listing.ts';
import type { WireError } from '../../jsonrpc/error.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import type { Denial } from '../../ports/principal.ts';

/** A server, and the request in its own words. */
export interface Candidate {
  /** Name of the server. */
  readonly key: string;
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
  /** The gateway has the answer: a result as the session era writes it. */
  | { readonly kind: 'answered'; readonly result: Buffer }
  /** The likeliest server first; only a URI may have several. */
  | {
      readonly kind: 'to';
      readonly candidates: readonly Candidate[];
      readonly tool?: OfferedEntry;
    };
