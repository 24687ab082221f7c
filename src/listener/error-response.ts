// Refusals of the listener: an HTTP status with a JSON-RPC error as the body, so that HTTP and JSON-RPC
// clients can both read it (docs/protocol.md#error-ids, #legacy-http). No other file makes them.
import type { ServerResponse } from 'node:http';
import { FAILED_INSIDE } from '../base/errors.ts';
import { INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST } from '../jsonrpc/error.ts';
import { errorMessage } from '../jsonrpc/serialize.ts';
import { HEADER_MISMATCH, REFUSED, SESSION_NOT_FOUND, wireErrorOf } from '../mcp/errors.ts';
import { FAILURES } from '../mcp/failures.ts';
import type { NoRoom } from '../session/session-store.ts';

/** The answer to a request that is not served. */
export interface Refusal {
  readonly status: number;
  readonly code: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly data?: unknown;
}

export const REFUSALS = {
  badHead: { status: 400, code: REFUSED, message: 'Bad Request.' },
  badTarget: { status: 400, code: REFUSED, message: 'The request target must be a path.' },
  httpVersion: {
    status: 505,
    code: REFUSED,
    message: 'HTTP Version Not Supported: send HTTP/1.1.',
    headers: { connection: 'close' },
  },
  coding: {
    status: 501,
    code: REFUSED,
    message: 'Not Implemented: the only supported Transfer-Encoding is chunked.',
    headers: { connection: 'close' },
  },
  noSession: {
    status: 400,
    code: REFUSED,
    message:
      'Bad Request: Server not initialized. Send initialize first, then send its Mcp-Session-Id.',
  },
  sessionNotFound: {
    status: 404,
    code: SESSION_NOT_FOUND,
    message: 'Session not found. Send initialize again.',
  },
  initialized: {
    status: 400,
    code: INVALID_REQUEST,
    message: 'Invalid request: the session is already initialized.',
  },
  contentType: {
    status: 415,
    code: REFUSED,
    message: 'Unsupported Media Type: Content-Type must be application/json.',
  },
  subprotocol: {
    status: 400,
    code: REFUSED,
    message: 'Bad Request: offer the WebSocket subprotocol mcp, or none.',
  },
  accept: {
    status: 406,
    code: REFUSED,
    message: 'Not Acceptable: accept application/json and text/event-stream.',
  },
  acceptStream: {
    status: 406,
    code: REFUSED,
    message: 'Not Acceptable: accept text/event-stream.',
  },
  method: {
    status: 405,
    code: REFUSED,
    message: 'Method not allowed.',
    headers: { allow: 'GET, POST, DELETE, OPTIONS' },
  },
  tooLarge: {
    status: 413,
    code: REFUSED,
    message: 'Payload Too Large: the message is larger than listen.maxBody.',
  },
  batchTooLong: {
    status: 400,
    code: INVALID_REQUEST,
    message: 'Invalid request: too many messages in one batch.',
  },
  emptyBatch: { status: 400, code: INVALID_REQUEST, message: 'Invalid request: empty batch.' },
  protocolVersion: {
    status: 400,
    code: REFUSED,
    message: 'Bad Request: unsupported MCP-Protocol-Version.',
  },
  envelopeMissing: {
    status: 400,
    code: INVALID_PARAMS,
    message: 'Invalid params: the version in the header needs the version in _meta too.',
  },
  headerMismatch: {
    status: 400,
    code: HEADER_MISMATCH,
    message: 'MCP-Protocol-Version differs from the version in the message.',
  },
  tooManySessions: {
    status: 503,
    ...wireErrorOf(FAILURES.tooManySessions()),
    headers: { 'retry-after': '5' },
  },
  tooManyOwnSessions: {
    status: 429,
    ...wireErrorOf(FAILURES.tooManyOwnSessions()),
    headers: { 'retry-after': '5' },
  },
  tooManyStreams: {
    status: 503,
    ...wireErrorOf(FAILURES.tooManyStreams()),
    headers: { 'retry-after': '5' },
  },
  tooManyOwnStreams: {
    status: 429,
    ...wireErrorOf(FAILURES.tooManyOwnStreams()),
    headers: { 'retry-after': '5' },
  },
  tooManyRequests: {
    status: 429,
    ...wireErrorOf(FAILURES.tooFast()),
  },
  shedding: {
    status: 503,
    ...wireErrorOf(FAILURES.lowOnMemory()),
    headers: { 'retry-after': '1' },
  },
  tooMuchHeld: {
    status: 503,
    ...wireErrorOf(FAILURES.tooMuchHeld()),
    headers: { 'retry-after': '1' },
  },
  unauthorized: {
    status: 401,
    code: REFUSED,
    message: 'Unauthorized: send a valid API key or access token in Authorization.',
  },
  authUnavailable: {
    status: 503,
    code: REFUSED,
    message: 'The token can not be verified at the moment; try again later.',
    headers: { 'retry-after': '5' },
  },
  forbidden: { status: 403, code: REFUSED, message: 'Forbidden.' },
  notFound: {
    status: 404,
    code: REFUSED,
    message: 'Not found.',
    headers: { 'cache-control': 'no-store' },
  },
  internal: {
    status: 500,
    code: INTERNAL_ERROR,
    message: FAILED_INSIDE,
    data: { reason: 'internal', outcome: 'unknown' },
  },
  failed: { status: 500, code: INTERNAL_ERROR, message: 'Internal error.' },
  draining: {
    status: 503,
    ...wireErrorOf(FAILURES.stopping()),
    headers: { 'retry-after': '5', connection: 'close' },
  },
} as const satisfies Record<string, Refusal>;

/**
 * Answers with a refusal.
 * @param id of the request, if it could be read
 */
export function refuse(response: ServerResponse, refusal: Refusal, id?: Buffer): void {
  if (response.headersSent || response.destroyed) return;
  sendJson(response, refusal.status, refusalBody(refusal, id), refusal.headers);
}

/**
 * The answer for a path without an endpoint.
 * @param paths the paths that this client may use
 */
export function notFound(paths: readonly string[]): Refusal {
  if (paths.length === 0) return REFUSALS.notFound;
  return { ...REFUSALS.notFound, message: `Not found. Clients connect to: ${paths.join(', ')}.` };
}

/**
 * What is answered to new work where none is taken: the gateway stops, or the endpoint is gone.
 * @param gone what is said in the second case
 */
export function drainRefusal(
  { isGone }: { readonly isGone: boolean },
  gone: Refusal = REFUSALS.notFound,
): Refusal {
  return isGone ? gone : REFUSALS.draining;
}

/** The answer if no session can be opened. */
export function sessionRefusal(reason: NoRoom): Refusal {
  if (reason === 'draining') return REFUSALS.draining;
  if (reason === 'held') return REFUSALS.tooMuchHeld;
  return reason === 'own' ? REFUSALS.tooManyOwnSessions : REFUSALS.tooManySessions;
}

/** The answer if no more stream can be opened. */
export function streamRefusal(reason: 'all' | 'own'): Refusal {
  return reason === 'own' ? REFUSALS.tooManyOwnStreams : REFUSALS.tooManyStreams;
}

/** The JSON-RPC error of a refusal. */
export function refusalBody({ code, message, data }: Refusal, id?: Buffer): Buffer {
  return errorMessage(id, data === undefined ? { code, message } : { code, message, data });
}

/** Up to this size, head and body are cheaper to send as one string than as two buffers. */
const ONE_WRITE_BYTES = 16 * 1024;

/** Answers with JSON text. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: Buffer,
  headers?: Readonly<Record<string, string>>,
): void {
  const length = { 'content-type': 'application/json', 'content-length': body.length };
  response.writeHead(status, headers === undefined ? length : { ...length, ...headers });
  // Latin-1 maps each byte to one character and back, so the bytes don't change.
  if (body.length <= ONE_WRITE_BYTES) response.end(body.toString('latin1'), 'latin1');
  else response.end(body);
}

/** Like `sendJson`, for text in pieces. */
export function sendJsonParts(
  response: ServerResponse,
  status: number,
  parts: readonly Buffer[],
): void {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': length });
  response.cork();
  for (const part of parts) response.write(part);
  response.uncork();
  response.end();
}

/** Answers without a body. */
export function sendEmpty(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-length': 0 });
  response.end();
}
