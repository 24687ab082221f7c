// The `settle` of a request that stands for a client's: tells what settles it by its kind.
import { GatewayError } from '../../src/base/errors.ts';
import type { WireError } from '../../src/jsonrpc/error.ts';
import { Frame } from '../../src/jsonrpc/frame.ts';
import { Denied, type Outcome } from '../../src/ports/request.ts';

export interface Told {
  /** A server's response. */
  respond?: (answer: Frame) => void;
  /** A result of the gateway's own. */
  answer?: (result: Buffer) => void;
  refuse?: (error: WireError) => void;
  fail?: (failure: GatewayError) => void;
}

export function settleBy(told: Told): (outcome: Outcome) => void {
  return (outcome) => {
    if (outcome instanceof Frame) told.respond?.(outcome);
    else if (Buffer.isBuffer(outcome)) told.answer?.(outcome);
    else if (outcome instanceof GatewayError) told.fail?.(outcome);
    else told.refuse?.(outcome instanceof Denied ? outcome.error : outcome);
  };
}
