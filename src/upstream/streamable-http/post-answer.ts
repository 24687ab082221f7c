// What comes back on one POST: one JSON text, or a stream that is resumed where it broke off
// (2025-11-25 basic/transports). Says what a request fails with whose answer was not in it.
import { pause } from '../../base/clock.ts';
import { cutText } from '../../base/cut-text.ts';
import type { RequestFailure } from '../../ports/channel.ts';
import {
  collect,
  NoRoomFailure,
  readEvents,
  reconnectMs,
  type StreamPosition,
} from './answer-body.ts';
import { type HttpAnswer, type HttpEndpoint, HttpFailure } from './http-endpoint.ts';
import type { Outgoing } from './outgoing.ts';

const MAX_RESUMES = 5;
const RESUME_BACKOFF = { floorMs: 250, firstMs: 1_000, capMs: 10_000 };
/** How long a server may take to give a stream again. */
const RESUME_MS = 30_000;

export interface PostAnswerContext {
  readonly endpoint: HttpEndpoint;
  readonly maxBytes: number;
  /** The headers of the session. */
  headers(): Readonly<Record<string, string>>;
  /** Whether the answer to a request is still to come. */
  isMissing(id: number): boolean;
  /** A message came on the POST's answer. */
  deliver(out: Outgoing, id: number, bytes: Buffer, answer: HttpAnswer): void;
  oversize(head: Buffer, tail: Buffer, length: number, isForRoom: boolean): void;
}

/** Reads the answers to the POSTs of one server. */
export class PostAnswers {
  readonly #context: PostAnswerContext;

  constructor(context: PostAnswerContext) {
    this.#context = context;
  }

  /**
   * Hands on what comes.
   * @returns what the request fails with, unless its answer was among it
   * @throws when the connection breaks off
   */
  async read(out: Outgoing, id: number, answer: HttpAnswer): Promise<RequestFailure> {
    if (answer.type === 'application/json') {
      const bytes = await collect(answer, this.#context.maxBytes);
      if (bytes === undefined) return TOO_LARGE;
      this.#context.deliver(out, id, bytes, answer);
      return NO_ANSWER;
    }
    if (answer.type !== 'text/event-stream') {
      answer.discard();
      return badAnswer(answer);
    }
    await this.#follow(out, id, answer);
    return out.wasTooLarge ? TOO_LARGE : ENDED_EARLY;
  }

  async #follow(out: Outgoing, id: number, first: HttpAnswer): Promise<void> {
    const position: StreamPosition = { lastId: undefined, retryMs: undefined };
    const { maxBytes, deliver, oversize, isMissing } = this.#context;
    const taker = {
      message: (bytes: Buffer) => deliver(out, id, bytes, first),
      oversize: (head: Buffer, tail: Buffer, length: number, isForRoom: boolean) => {
        out.wasTooLarge = true;
        oversize(head, tail, length, isForRoom);
      },
    };
    let answer: HttpAnswer | undefined = first;
    for (let resumes = 1; answer !== undefined; resumes++) {
      const before = position.lastId;
      await readEvents(answer, maxBytes, position, taker);
      if (out.isModern || position.lastId === undefined || !isMissing(id)) return;
      // A server that says more each time may be followed for as long as the call may take.
      if (position.lastId !== before) resumes = 1;
      if (resumes > MAX_RESUMES) return;
      answer = await this.#resume(out, position, resumes);
    }
  }

  /** The stream behind the last event; undefined when the server does not give it. */
  async #resume(
    out: Outgoing,
    position: StreamPosition,
    resumes: number,
  ): Promise<HttpAnswer | undefined> {
    const waitMs = reconnectMs(position, resumes, RESUME_BACKOFF);
    if (!(await pause(waitMs, out.signal))) return undefined;
    const answer = await this.#context.endpoint.request({
      method: 'GET',
      headers: {
        accept: 'text/event-stream',
        ...this.#context.headers(),
        'last-event-id': position.lastId ?? '',
      },
      signal: out.signal,
      isCall: true,
      from: out.from,
      headMs: RESUME_MS,
    });
    if (answer.status === 200 && answer.type === 'text/event-stream') return answer;
    answer.discard();
    return undefined;
  }
}

/** What was to be kept of the request or of its answer was given up. */
export const NO_ROOM: RequestFailure = {
  reason: 'overloaded',
  outcome: 'unknown',
  what: 'may have run the request, whose bytes or answer there was no room for (limits.heldBytes); try again later.',
};

/** The answer broke off. */
export const ENDED_EARLY: RequestFailure = {
  reason: 'server_exited',
  outcome: 'unknown',
  what: 'ended its answer before it was whole; it may have run the request.',
};

/** What a request fails with whose POST ended without an answer. */
export function failureOfLost(out: Outgoing, error: unknown): RequestFailure {
  if (out.isCut || error instanceof NoRoomFailure) return NO_ROOM;
  return error instanceof HttpFailure ? error.failure : ENDED_EARLY;
}

const NO_ANSWER: RequestFailure = {
  reason: 'server_protocol_error',
  outcome: 'unknown',
  what: 'answered with something that is no answer to the request.',
};

const TOO_LARGE: RequestFailure = {
  reason: 'response_too_large',
  outcome: 'unknown',
  what: 'answered with more than limits.message; raise it to let the answer through.',
};

function badAnswer(answer: HttpAnswer): RequestFailure {
  const { status, type } = answer;
  const what = `answered HTTP ${status} with ${type === '' ? 'no content type' : cutText(type)}, which is no MCP answer; correct the URL.`;
  return { reason: 'server_protocol_error', outcome: 'unknown', what, isLasting: true };
}
