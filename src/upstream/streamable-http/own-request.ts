// Requests that a channel makes for itself, beside those that it carries: their ids are no ids of the
// connection, and their answers go no further.
import { isObject, parseSpan } from '../../jsonrpc/parse.ts';
import { collect, readEvents } from './answer-body.ts';
import type { HttpAnswer, HttpEndpoint } from './http-endpoint.ts';
import { type HttpSession, sessionHeaders } from './message-headers.ts';
import type { Outgoing } from './outgoing.ts';

const MAX_DELETE_MS = 2_000;

export interface OwnRequest {
  readonly message: Outgoing;
  readonly headers: Readonly<Record<string, string>>;
  /** Who it is made for. */
  readonly from: Outgoing['from'];
  readonly signal: AbortSignal;
  /** Whether a call waits for it. */
  readonly isCall: boolean;
  /** How long the answer may take in all. */
  readonly limitMs: number;
}

/**
 * Makes one.
 * @throws HttpFailure when the connection breaks off, or the answer takes too long
 */
export async function requestOwn(
  endpoint: HttpEndpoint,
  { message, headers, from, signal, isCall, limitMs }: OwnRequest,
): Promise<HttpAnswer> {
  return await endpoint.request({
    method: 'POST',
    headers,
    body: message.frame.bytes,
    signal: AbortSignal.any([signal, AbortSignal.timeout(limitMs)]),
    isCall,
    from,
    headMs: limitMs,
  });
}

/** The last message of an answer; undefined where there is none that can be read. */
export async function lastMessage(
  answer: HttpAnswer,
  maxBytes: number,
): Promise<Buffer | undefined> {
  if (answer.type === 'application/json') return await collect(answer, maxBytes);
  if (answer.type !== 'text/event-stream') {
    answer.discard();
    return undefined;
  }
  let last: Buffer | undefined;
  const position = { lastId: undefined, retryMs: undefined };
  await readEvents(answer, maxBytes, position, {
    message: (bytes) => {
      last = bytes;
    },
    oversize: () => undefined,
  });
  return last;
}

/** Tells the server that a session is over, if it has one. Fails for nothing, and does not take long. */
export async function deleteSession(
  endpoint: HttpEndpoint,
  session: HttpSession | undefined,
  stopMs: number,
): Promise<void> {
  if (session?.id === undefined) return;
  const limitMs = Math.min(stopMs, MAX_DELETE_MS);
  try {
    const answer = await endpoint.request({
      method: 'DELETE',
      headers: sessionHeaders(session),
      signal: AbortSignal.timeout(limitMs),
      headMs: limitMs,
    });
    answer.discard();
  } catch {
    // It is gone, or takes no notice: either way the session is over for us.
  }
}

/** The envelope of a request of a stateless connection, for another request on its behalf. */
export function envelopeOf({ frame }: Outgoing): Readonly<Record<string, unknown>> {
  const meta = parseSpan(frame.bytes, frame.metaStart, frame.metaEnd);
  const { progressToken: _, ...envelope } = isObject(meta) ? meta : {};
  return envelope;
}
