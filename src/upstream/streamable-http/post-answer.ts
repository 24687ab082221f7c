// The answer to one POST: one JSON text, or a stream, which is resumed if it breaks (2025-11-25
// basic/transports). Says how a request fails if its answer did not come.
import { pause } from '../../base/clock.ts';
import { cutText } from '../../base/cut-text.ts';
import type { RequestFailure } from '../../ports/channel.ts';
import { HttpFailure } from '../credentials/http-failure.ts';
import {
  collect,
  NO_ROOM,
  readEvents,
  reconnectMs,
  type StreamPosition,
  type StreamTaker,
} from '../remote/answer-body.ts';
import type { HttpAnswer } from '../remote/http-endpoint.ts';
import type { HttpLink } from './link.ts';
import type { Outgoing } from './outgoing.ts';

const MAX_RESUMES = 5;
const RESUME_BACKOFF = { floorMs: 250, firstMs: 1_000, capMs: 10_000 };
/** How long a server may take to resume a stream. */
const RESUME_MS = 30_000;

/** Gets what arrives in answers to POSTs. */
export interface PostTaker {
  /** Whether the answer to a request has not come yet. */
  isMissing(id: number): boolean;
  /** A message arrived in the answer to a POST. */
  deliver(out: Outgoing, id: number, bytes: Buffer, answer: HttpAnswer): void;
  oversize(head: Buffer, tail: Buffer, length: number, isForRoom: boolean): void;
}

/**
 * Passes on what arrives in the answer to a POST.
 * @returns the failure of the request, if its answer did not come
 * @throws if the connection breaks
 */
export async function readPostAnswer(
  link: HttpLink,
  taker: PostTaker,
  { out, id, answer }: { out: Outgoing; id: number; answer: HttpAnswer },
): Promise<RequestFailure> {
  if (answer.type === 'application/json') {
    const bytes = await collect(answer, link.maxBytes);
    if (bytes === undefined) return TOO_LARGE;
    taker.deliver(out, id, bytes, answer);
    return NO_ANSWER;
  }
  if (answer.type !== 'text/event-stream') {
    answer.discard();
    return badAnswer(answer);
  }
  const position: StreamPosition = { lastId: undefined, retryMs: undefined };
  const onStream: StreamTaker = {
    message: (bytes) => taker.deliver(out, id, bytes, answer),
    oversize: (...dropped) => {
      out.wasTooLarge = true;
      taker.oversize(...dropped);
    },
  };
  let stream: HttpAnswer | undefined = answer;
  for (let resumes = 1; stream !== undefined && resumes <= MAX_RESUMES; resumes++) {
    const before = position.lastId;
    await readEvents(stream, link.maxBytes, position, onStream);
    if (out.isModern || position.lastId === undefined || !taker.isMissing(id)) break;
    // If the server sends something each time, the stream is resumed for as long as the call may take.
    if (position.lastId !== before) resumes = 1;
    stream = await resume(link, out, position, resumes);
  }
  return out.wasTooLarge ? TOO_LARGE : ENDED_EARLY;
}

/** The stream after the last event; undefined if the server does not resume it. */
async function resume(
  { endpoint, sessionHeaders }: HttpLink,
  out: Outgoing,
  position: StreamPosition,
  resumes: number,
): Promise<HttpAnswer | undefined> {
  const waitMs = reconnectMs(position, resumes, RESUME_BACKOFF);
  if (!(await pause(waitMs, out.signal))) return undefined;
  const accept = 'text/event-stream';
  const answer = await endpoint.request({
    method: 'GET',
    headers: { accept, ...sessionHeaders, 'last-event-id': position.lastId ?? '' },
    signal: out.signal,
    isCall: true,
    from: out.from,
    headMs: RESUME_MS,
  });
  if (answer.status === 200 && answer.type === accept) return answer;
  answer.discard();
  return undefined;
}

/** The answer broke off. */
export const ENDED_EARLY: RequestFailure = {
  reason: 'server_exited',
  outcome: 'unknown',
  what: 'ended its answer before it was complete; it may have run the request.',
};

/** The failure of a request whose POST ended without an answer. */
export function failureOfLost(out: Outgoing, error: unknown): RequestFailure {
  if (out.isCut) return NO_ROOM;
  return error instanceof HttpFailure ? error.failure : ENDED_EARLY;
}

const NO_ANSWER: RequestFailure = {
  reason: 'server_protocol_error',
  outcome: 'unknown',
  what: 'answered with something that is not a response to the request.',
};

const TOO_LARGE: RequestFailure = {
  reason: 'response_too_large',
  outcome: 'unknown',
  what: 'sent an answer that is larger than limits.message; raise that limit.',
};

function badAnswer(answer: HttpAnswer): RequestFailure {
  const { status, type } = answer;
  const what = `answered HTTP ${status} with ${type === '' ? 'no content type' : cutText(type)}, which is not an MCP answer; correct the URL.`;
  return { reason: 'server_protocol_error', outcome: 'unknown', what, isLasting: true };
}
