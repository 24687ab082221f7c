// The meaning of an answer with an error status: for the request, for the session, and for detecting era and
// transport (docs/protocol.md#httpsse, #remote-servers). Its headers are not passed on.

import { within } from '../../base/clock.ts';
import { cutText } from '../../base/cut-text.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { integerId } from '../../jsonrpc/id.ts';
import { errorCodeOf, isObject, parseError, parseSpan } from '../../jsonrpc/parse.ts';
import { scan } from '../../jsonrpc/scan.ts';
import { HEADER_MISMATCH, SESSION_NOT_FOUND, UNSUPPORTED_VERSION } from '../../mcp/errors.ts';
import type { RequestFailure } from '../../ports/channel.ts';
import { leftAlone } from '../credentials/remote-access.ts';
import { collect } from './answer-body.ts';
import { type HttpAnswer, retryAfterMs } from './http-endpoint.ts';

const UNAUTHORIZED = 401;
const FORBIDDEN = 403;
const NOT_FOUND = 404;
const GONE = 410;
const TOO_MANY_REQUESTS = 429;
/** How long reading an error body may take; the status is enough. */
const BODY_MS = 5_000;
/** Answers about a lost session are short. */
const MAX_HINT_BYTES = 4_096;
const ERROR_MEMBER = Buffer.from('"error"');

export interface HttpRefusal {
  readonly status: number;
  readonly failure: RequestFailure;
  /** The beginning of the body. */
  readonly text: string;
  /** The JSON-RPC error in the body, if it can be passed on. */
  readonly error: Frame | undefined;
  /** The body, if it is a JSON-RPC response with the id of the request: then the status does not matter. */
  readonly answer: Buffer | undefined;
  /** The status means that the server does not know the session. */
  readonly saysSessionIsGone: boolean;
  /** Whether the text is about the session, for servers that use another status for that. */
  readonly isAboutSession: boolean;
  /** Whether it says nothing about era and transport: the server is down, or refuses access. */
  readonly isNoEvidence: boolean;
}

/**
 * Reads an answer with an error status.
 * @param id of the request; undefined for other messages
 */
export async function refusalOf(
  answer: HttpAnswer,
  id: number | undefined,
  maxBytes: number,
): Promise<HttpRefusal> {
  const { status } = answer;
  const isNoEvidence =
    status === UNAUTHORIZED ||
    status === FORBIDDEN ||
    status === TOO_MANY_REQUESTS ||
    status >= 500;
  const body = await bodyOf(answer, maxBytes);
  const frame = scan(body);
  const isAnswer = isAnswerTo(frame, id);
  const isError = frame.errorStart >= 0 && errorCodeOf(frame) !== undefined;
  const isAboutSession = isSessionText(body.subarray(0, MAX_HINT_BYTES));
  const isUnknown = status === NOT_FOUND || status === GONE;
  return {
    status,
    text: body.toString('utf8', 0, MAX_HINT_BYTES),
    failure: isNoEvidence ? noEvidence(answer) : withoutError(status),
    error: isError && !isNoEvidence ? frame : undefined,
    answer: isAnswer ? body : undefined,
    saysSessionIsGone: isUnknown && (!isAnswer || isAboutSession),
    isAboutSession,
    isNoEvidence,
  };
}

/** The body; empty if it takes too long or is too large. */
async function bodyOf(answer: HttpAnswer, maxBytes: number): Promise<Buffer> {
  const reading = collect(answer, maxBytes).catch(() => undefined);
  const body = await within(BODY_MS, reading);
  if (body === undefined) answer.cut();
  return body ?? Buffer.alloc(0);
}

/** Whether a message is the response to a request. */
export function isAnswerTo(frame: Frame, id: number | undefined): boolean {
  if (id === undefined || frame.kind !== 'response') return false;
  return integerId(frame.bytes, frame.idStart, frame.idEnd) === id;
}

function withoutError(status: number): RequestFailure {
  const what = `answered HTTP ${status} without a JSON-RPC error.`;
  return { reason: 'server_protocol_error', outcome: 'unknown', what };
}

/** The failure of a call if the server is down, or refuses access. */
function noEvidence(answer: HttpAnswer): RequestFailure {
  const { status } = answer;
  if (status === TOO_MANY_REQUESTS) return tooMany(answer);
  const failure = { reason: 'server_unavailable', outcome: 'unknown' } as const;
  const isAccess = status === UNAUTHORIZED || status === FORBIDDEN;
  if (!isAccess) return { ...failure, what: `answered HTTP ${status}.` };
  const asked = status === UNAUTHORIZED ? 'wants credentials' : 'does not accept the gateway';
  const what = `${asked} (HTTP ${status}); check headers and auth of the server, or the --header of connect.`;
  return { ...failure, what, isLasting: true };
}

/**
 * The reason with which a channel ends that never worked.
 * @param failure of the first request
 */
export function cannotStart({ what, isLasting }: RequestFailure): string {
  return `${isLasting === true ? 'refused' : 'cannot_start'}: it ${what}`;
}

/**
 * What is wrong if there is no transport at the URL.
 * @param post how a POST was refused; undefined if none was tried
 * @param get how a GET was refused
 */
export function noEndpoint(post: HttpRefusal | undefined, get: HttpRefusal): RequestFailure {
  const failure = { reason: 'server_protocol_error', outcome: 'unknown' } as const;
  if (get.isNoEvidence) return get.failure;
  const error = post?.error && parseError(post.error);
  if (post !== undefined && error !== undefined) {
    const text = typeof error['message'] === 'string' ? cutText(error['message']) : 'no message';
    return { ...failure, what: `refuses initialize (HTTP ${post.status}): ${text}.` };
  }
  const seen = [
    ...(post === undefined ? [] : [`HTTP ${post.status} to POST`]),
    `HTTP ${get.status} to GET`,
  ];
  const what = `has no MCP endpoint at this path (${seen.join(', ')}); correct the URL.`;
  return { ...failure, what, isLasting: true };
}

function tooMany(answer: HttpAnswer): RequestFailure {
  const ms = retryAfterMs(answer.header('retry-after'));
  if (ms !== undefined) return leftAlone(ms);
  const what = 'accepts no more requests for now (HTTP 429); try again later.';
  return { reason: 'rate_limited', outcome: 'not_sent', what };
}

/**
 * Whether a message is an error that may mean a lost session, whatever its status was. A request to the
 * server finds out.
 */
export function hintsAtLostSession(message: Buffer): boolean {
  if (message.length > MAX_HINT_BYTES || !message.includes(ERROR_MEMBER)) return false;
  const { bytes, errorStart, errorEnd } = scan(message);
  const error = parseSpan(bytes, errorStart, errorEnd);
  if (!isObject(error)) return false;
  return error['code'] === SESSION_NOT_FOUND || isSessionText(bytes.subarray(errorStart, errorEnd));
}

/** Some servers report an unknown session, or a missing `initialize`, only in words. */
export function isSessionText(text: Buffer): boolean {
  return /session|not (?:yet )?initiali[sz]ed|expect(?:ed)? initiali[sz]e/i.test(text.toString());
}

/** Whether an error is one that only modern servers send. */
export function isModernRefusal(error: Frame): boolean {
  const code = errorCodeOf(error);
  return code !== undefined && code <= HEADER_MISMATCH && code >= UNSUPPORTED_VERSION;
}

/** An error response with the id of the request; over HTTP it may have none. */
export function withId(error: Frame, id: number): Buffer {
  const body = error.slice(error.errorStart, error.errorEnd) ?? Buffer.from('null');
  return Buffer.concat([
    Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":`),
    body,
    Buffer.from('}'),
  ]);
}
