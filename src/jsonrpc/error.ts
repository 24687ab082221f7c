// JSON-RPC 2.0 error objects and the standard codes (JSON-RPC 2.0 section 5.1).

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;

/** An error as it travels. */
export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}
