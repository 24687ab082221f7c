// A remote server over Streamable HTTP, of either era: every message is a POST of its own, and what
// comes back on it belongs to it. Knows sessions of HTTP; knows nothing of callers.

import { pause } from '../../base/clock.ts';
import { cutText } from '../../base/cut-text.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { integerId } from '../../jsonrpc/id.ts';
import { errorCodeOf, parseResult } from '../../jsonrpc/parse.ts';
import { scan } from '../../jsonrpc/scan.ts';
import { CANCELLED, INITIALIZE, INITIALIZED, TOOLS_CALL, TOOLS_LIST } from '../../mcp/methods.ts';
import type { Logger } from '../../observe/logger.ts';
import type { ChannelEvents, RequestFailure } from '../../ports/channel.ts';
import type { Principal } from '../../ports/principal.ts';
import type { Access } from '../credentials/remote-access.ts';
import type { ServerOptions } from '../options.ts';
import type { ServerChannel } from '../server-channel.ts';
import { collect, readEvents, reconnectMs, type StreamPosition } from './answer-body.ts';
import { type HttpAnswer, HttpEndpoint, HttpFailure } from './http-endpoint.ts';
import { ListeningStream } from './listening-stream.ts';
import { type HttpSession, messageHeaders, sessionHeaders } from './message-headers.ts';
import type { RemoteTarget } from './options.ts';
import { Outgoing } from './outgoing.ts';
import { isModernRefusal, refusalOf, withId } from './refusals.ts';
import { ToolHeaders } from './tool-headers.ts';
import { refreshTools } from './tool-refresh.ts';

const HEADER_MISMATCH = -32020;
/** How long a server may take to accept what it need not answer. */
const ACCEPT_MS = 30_000;
const MAX_RESUMES = 5;
const RESUME_BACKOFF = { floorMs: 250, firstMs: 1_000, capMs: 10_000 };
const MAX_DELETE_MS = 2_000;
/** Messages without an answer that may be on their way; more are dropped. */
const MAX_UNANSWERED = 1_024;
const SESSION_ID = /^[\x21-\x7e]{1,1024}$/;

export interface HttpChannelParts {
  readonly events: ChannelEvents;
  readonly logger: Logger;
  readonly access: Access;
  /**
   * The server does not speak this transport at all: told instead of `closed`, with the message that
   * showed it.
   */
  readonly notSpoken?: ((initialize: Buffer, failure: RequestFailure) => void) | undefined;
}

/** A remote server. */
export class HttpChannel implements ServerChannel {
  readonly pid = undefined;
  readonly lastWords = '';
  readonly #options: ServerOptions;
  readonly #events: ChannelEvents;
  readonly #logger: Logger;
  readonly #parts: HttpChannelParts;
  readonly #endpoint: HttpEndpoint;
  readonly #tools: ToolHeaders;
  readonly #posts = new Set<Outgoing>();
  /** What waits until the server has taken `notifications/initialized`; undefined: nothing has to. */
  #waiting: Outgoing[] | undefined;
  #session: HttpSession | undefined;
  #listening: ListeningStream | undefined;
  #isOver = false;

  constructor(target: RemoteTarget, options: ServerOptions, parts: HttpChannelParts) {
    this.#options = options;
    this.#parts = parts;
    this.#events = parts.events;
    this.#logger = parts.logger;
    this.#endpoint = new HttpEndpoint(target, options.limits.inFlight, parts.access);
    this.#tools = new ToolHeaders(parts.logger);
  }

  get isWritable(): boolean {
    return true;
  }

  send(message: Buffer, from?: Principal): boolean {
    if (this.#isOver) return false;
    const out = new Outgoing(message, from);
    if (out.method === CANCELLED && this.#cancel(out)) return true;
    if (this.#waiting === undefined) return this.#start(out);
    this.#waiting.push(out);
    return true;
  }

  async close(): Promise<void> {
    this.#isOver = true;
    this.#letGo();
    await this.#deleteSession();
    await this.#endpoint.close();
  }

  /** @returns false when it was dropped */
  #start(out: Outgoing): boolean {
    if (out.id === undefined && this.#posts.size > this.#options.limits.inFlight + MAX_UNANSWERED) {
      this.#logger.warn({ method: out.method }, 'server takes no messages: one was dropped');
      return false;
    }
    this.#posts.add(out);
    if (out.method === INITIALIZED) this.#waiting = [];
    void this.#run(out).finally(() => this.#ended(out));
    return true;
  }

  #ended(out: Outgoing): void {
    this.#posts.delete(out);
    out.cancels?.abort();
    if (out.method !== INITIALIZED) return;
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    if (this.#isOver) return;
    for (const one of waiting) this.#start(one);
  }

  /** @returns whether that is all: a modern server takes the end of the POST as cancel */
  #cancel(notice: Outgoing): boolean {
    const { bytes, requestIdStart, requestIdEnd } = notice.frame;
    const id = integerId(bytes, requestIdStart, requestIdEnd);
    const call = [...this.#posts].find((post) => post.id === id);
    if (call?.isModern === true) {
      call.abort();
      return true;
    }
    // Nobody waits for what a session's server may still say; without this its stream would stay.
    notice.cancels = call;
    return this.#session === undefined;
  }

  async #run(out: Outgoing): Promise<void> {
    const quiet = this.#endpoint.quiet(out.from);
    try {
      if (quiet !== undefined && out.id !== undefined) throw new HttpFailure(quiet, false);
      const { requestMaxMs } = this.#options.timeouts;
      const answer = await this.#endpoint.request({
        method: 'POST',
        headers: messageHeaders(out, this.#session, this.#tools),
        body: out.frame.bytes,
        signal: out.signal,
        from: out.from,
        headMs: out.id === undefined ? ACCEPT_MS : requestMaxMs + ACCEPT_MS,
      });
      if (answer.status > 299) await this.#onRefused(out, answer);
      else if (out.id === undefined) this.#onAccepted(out, answer);
      else await this.#onAnswer(out, out.id, answer);
    } catch (error) {
      await this.#onLost(out, error);
    }
  }

  #onAccepted(out: Outgoing, answer: HttpAnswer): void {
    answer.discard();
    if (out.method !== INITIALIZED || this.#isOver) return;
    this.#listening = new ListeningStream({
      endpoint: this.#endpoint,
      maxBytes: this.#options.limits.messageBytes,
      logger: this.#logger,
      headers: () => sessionHeaders(this.#session),
      lost: (reason) => this.#end(reason),
      taker: {
        message: (bytes) => this.#events.received(bytes),
        oversize: (head, tail, length) => this.#events.oversize(head, tail, length),
      },
    });
  }

  async #onAnswer(out: Outgoing, id: number, answer: HttpAnswer): Promise<void> {
    if (answer.type === 'application/json') {
      const bytes = await collect(answer.body, this.#options.limits.messageBytes);
      if (bytes !== undefined) this.#deliver(out, id, bytes, answer);
      this.#fail(out, bytes === undefined ? TOO_LARGE : NO_ANSWER);
    } else if (answer.type === 'text/event-stream') {
      await this.#followStream(out, id, answer);
      if (out.wasTooLarge) this.#fail(out, TOO_LARGE);
      else if (this.#isMissing(id) && out.repeat()) await this.#run(out);
      else this.#fail(out, ENDED_EARLY);
    } else {
      answer.discard();
      this.#fail(out, badAnswer(answer));
    }
  }

  async #followStream(out: Outgoing, id: number, first: HttpAnswer): Promise<void> {
    const position: StreamPosition = { lastId: undefined, retryMs: undefined };
    const taker = {
      message: (bytes: Buffer) => this.#deliver(out, id, bytes, first),
      oversize: (head: Buffer, tail: Buffer, length: number) => {
        out.wasTooLarge = true;
        this.#events.oversize(head, tail, length);
      },
    };
    const { messageBytes } = this.#options.limits;
    let answer: HttpAnswer | undefined = first;
    for (let resumes = 1; answer !== undefined; resumes++) {
      const before = position.lastId;
      await readEvents(answer.body, messageBytes, position, taker);
      if (out.isModern || position.lastId === undefined || !this.#isMissing(id)) return;
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
    const answer = await this.#endpoint.request({
      method: 'GET',
      headers: {
        accept: 'text/event-stream',
        ...sessionHeaders(this.#session),
        'last-event-id': position.lastId ?? '',
      },
      signal: out.signal,
      from: out.from,
      headMs: ACCEPT_MS,
    });
    if (answer.status === 200 && answer.type === 'text/event-stream') return answer;
    answer.discard();
    return undefined;
  }

  #deliver(out: Outgoing, id: number, bytes: Buffer, answer: HttpAnswer): void {
    if (this.#isOver) return;
    if (out.method === INITIALIZE) this.#noteSession(scan(bytes), answer);
    const message = out.isModern && out.method === TOOLS_LIST ? this.#tools.learn(bytes) : bytes;
    this.#events.received(message, id);
  }

  #noteSession(frame: Frame, answer: HttpAnswer): void {
    if (frame.kind !== 'response' || frame.resultStart < 0) return;
    const id = answer.header('mcp-session-id');
    const version = parseResult(frame)?.['protocolVersion'];
    this.#session = {
      id: id !== undefined && SESSION_ID.test(id) ? id : undefined,
      version: typeof version === 'string' ? version : '',
    };
  }

  async #onRefused(out: Outgoing, answer: HttpAnswer): Promise<void> {
    const refusal = await refusalOf(answer, this.#options.limits.messageBytes);
    const { failure, error } = refusal;
    const isInSession = this.#session?.id !== undefined && !out.isModern;
    if (isInSession && refusal.saysSessionIsGone) {
      this.#end('session_lost');
    } else if (out.id === undefined) {
      this.#logger.debug({ method: out.method, status: answer.status }, 'server refused a message');
    } else if (out.isHandshake && refusal.isNoEvidence) {
      this.#end(`cannot_start: it ${failure.what}`);
    } else if (out.method === INITIALIZE && this.#isNotSpoken(answer, error)) {
      this.#parts.notSpoken?.(out.frame.bytes, failure);
    } else if (error === undefined) {
      this.#fail(out, failure);
    } else if (this.#mayHaveStaleHeaders(out, error)) {
      await this.#callWithNewHeaders(out);
    } else {
      this.#events.received(withId(error, out.id), out.id);
    }
  }

  /** What an older transport's server says to a POST (protocol.md 2.4). */
  #isNotSpoken(answer: HttpAnswer, error: Frame | undefined): boolean {
    if (this.#parts.notSpoken === undefined || ![400, 404, 405].includes(answer.status))
      return false;
    return error === undefined || !isModernRefusal(error);
  }

  #mayHaveStaleHeaders(out: Outgoing, error: Frame): boolean {
    const isMismatch = errorCodeOf(error) === HEADER_MISMATCH;
    return isMismatch && out.isModern && out.method === TOOLS_CALL && !out.hasNewHeaders;
  }

  async #callWithNewHeaders(out: Outgoing): Promise<void> {
    out.hasNewHeaders = true;
    this.#logger.debug('server wants other headers: its tools are listed again');
    await refreshTools(this.#endpoint, out, this.#tools, this.#options.limits.messageBytes);
    await this.#run(out);
  }

  async #onLost(out: Outgoing, error: unknown): Promise<void> {
    if (this.#isOver) return;
    const isUnreachable = error instanceof HttpFailure && error.isUnreachable;
    const failure = error instanceof HttpFailure ? error.failure : ENDED_EARLY;
    if (out.isHandshake && !out.signal.aborted) {
      this.#end(`cannot_start: it ${failure.what}`);
    } else if (isUnreachable) {
      this.#fail(out, failure);
      this.#end('unreachable');
    } else if (out.id !== undefined && this.#isMissing(out.id) && out.repeat()) {
      await this.#run(out);
    } else {
      this.#fail(out, failure);
    }
  }

  #isMissing(id: number): boolean {
    return !this.#isOver && this.#events.awaits(id);
  }

  #fail(out: Outgoing, failure: RequestFailure): void {
    if (out.id !== undefined && !this.#isOver) this.#events.failed(out.id, failure);
  }

  #end(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (reason === 'session_lost') this.#session = undefined;
    this.#letGo();
    this.#events.closed(reason);
  }

  #letGo(): void {
    this.#listening?.close();
    this.#waiting = undefined;
    for (const post of this.#posts) post.abort();
  }

  async #deleteSession(): Promise<void> {
    const session = this.#session;
    if (session?.id === undefined) return;
    const limitMs = Math.min(this.#options.timeouts.stopMs, MAX_DELETE_MS);
    try {
      const answer = await this.#endpoint.request({
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
}

const ENDED_EARLY: RequestFailure = {
  reason: 'server_exited',
  outcome: 'unknown',
  what: 'ended its answer before it was whole; it may have run the request.',
};

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
  const what = `answered HTTP ${status} with ${type === '' ? 'no content type' : cutText(type)}, which is no MCP answer.`;
  return { reason: 'server_protocol_error', outcome: 'unknown', what };
}
