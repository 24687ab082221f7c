// What an answer with an error status means: for the request, for the session, for the question of
// which era and transport the server speaks (protocol.md 2.4, 2.7). Nothing of its headers is passed on.
import type { Frame } from '../../jsonrpc/frame.ts';
import { errorCodeOf } from '../../jsonrpc/parse.ts';
import { scan } from '../../jsonrpc/scan.ts';
import type { RequestFailure } from '../../ports/channel.ts';
import { leftAlone } from '../credentials/remote-access.ts';
import { collect } from './answer-body.ts';
import type { HttpAnswer } from './http-endpoint.ts';
import { retryAfterMs } from './retry-after.ts';

const UNAUTHORIZED = 401;
const FORBIDDEN = 403;
const NOT_FOUND = 404;
const BAD_REQUEST = 400;
const TOO_MANY_REQUESTS = 429;

export interface HttpRefusal {
  readonly failure: RequestFailure;
  /** The JSON-RPC error in the body, if it has one that may be passed on. */
  readonly error: Frame | undefined;
  readonly saysSessionIsGone: boolean;
  /** Whether it says nothing of era and transport: the server is not there, or not for us. */
  readonly isNoEvidence: boolean;
}

/** Reads a refusal. */
export async function refusalOf(answer: HttpAnswer, maxBytes: number): Promise<HttpRefusal> {
  const { status } = answer;
  const isNoEvidence =
    status === UNAUTHORIZED ||
    status === FORBIDDEN ||
    status === TOO_MANY_REQUESTS ||
    status >= 500;
  if (isNoEvidence) {
    answer.discard();
    return {
      failure: noEvidence(answer),
      error: undefined,
      saysSessionIsGone: false,
      isNoEvidence,
    };
  }
  const body = (await collect(answer.body, maxBytes)) ?? Buffer.alloc(0);
  const frame = scan(body);
  const isError = frame.errorStart >= 0 && errorCodeOf(frame) !== undefined;
  return {
    failure: {
      reason: 'server_protocol_error',
      outcome: 'unknown',
      what: `answered HTTP ${status} without a JSON-RPC error.`,
    },
    error: isError ? frame : undefined,
    saysSessionIsGone: status === NOT_FOUND || (status === BAD_REQUEST && isAboutSession(body)),
    isNoEvidence,
  };
}

/** What a call fails with where the server is not there, or not for us. */
export function noEvidence(answer: HttpAnswer): RequestFailure {
  const { status } = answer;
  if (status === TOO_MANY_REQUESTS) return tooMany(answer);
  const isAccess = status === UNAUTHORIZED || status === FORBIDDEN;
  const what = isAccess
    ? `refuses the gateway (HTTP ${status}); check headers and auth of the server in the configuration.`
    : `answered HTTP ${status}.`;
  return { reason: 'server_unavailable', outcome: 'unknown', what };
}

function tooMany(answer: HttpAnswer): RequestFailure {
  const ms = retryAfterMs(answer.header('retry-after'));
  if (ms !== undefined) return leftAlone(ms);
  const what = 'takes no more for now (HTTP 429); try again later.';
  return { reason: 'rate_limited', outcome: 'not_sent', what };
}

// Some servers answer so where 404 is due.
function isAboutSession(body: Buffer): boolean {
  return /session/i.test(body.toString('utf8', 0, 1_000));
}

/** Whether an error is one that only servers of the stateless era know. */
export function isModernRefusal(error: Frame): boolean {
  const code = errorCodeOf(error);
  return code !== undefined && code <= -32020 && code >= -32022;
}

/** An error response under the id of the request; over HTTP it may have come without one. */
export function withId(error: Frame, id: number): Buffer {
  const body = error.slice(error.errorStart, error.errorEnd) ?? Buffer.from('null');
  return Buffer.concat([
    Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":`),
    body,
    Buffer.from('}'),
  ]);
}
