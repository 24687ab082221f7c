// GatewayError -> the JSON-RPC error that a client sees (docs/errors.md).
import type { GatewayError } from '../base/errors.ts';
import { INTERNAL_ERROR, type WireError } from '../jsonrpc/error.ts';

/** No resource of a URI, for clients of the session era; modern ones read it as a wrong parameter. */
export const RESOURCE_NOT_FOUND = -32002;

/** The error object of a failure that Sluice made itself. */
export function wireErrorOf(failure: GatewayError): WireError {
  const { retryAfterMs } = failure;
  return {
    code: INTERNAL_ERROR,
    message: failure.message,
    data: {
      reason: failure.reason,
      outcome: failure.outcome,
      ...(failure.server === undefined ? {} : { server: failure.server }),
      // In seconds, as the header has it.
      ...(retryAfterMs === undefined ? {} : { retryAfter: Math.ceil(retryAfterMs / 1_000) }),
    },
  };
}
