// JSON-RPC 2.0 error objects and the standard codes (JSON-RPC 2.0 section 5.1).

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;

/** A JSON-RPC error object. */
export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}
/** The error for invalid params. */

/** @param what a sentence */
export function invalidParams(what: string): WireError {
  return { code: INVALID_PARAMS, message: `Invalid params: ${what}` };
}

/** @param method as a peer wrote it, or what of a method is not there */
export function methodNotFound(method: string): WireError {
  return { code: METHOD_NOT_FOUND, message: `Method not found: ${method.slice(0, 100)}` };
}

/** @param what a capability, or its part */
export function notOffered(what: string): WireError {
  const message = `Method not found: ${what.slice(0, 100)} not offered.`;
  return { code: METHOD_NOT_FOUND, message };
}
