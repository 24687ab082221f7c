// A remote server of either era over Streamable HTTP: every message is a separate POST, and what comes back
// belongs to it. Handles HTTP sessions; knows nothing about callers.

import type { Frame } from '../../jsonrpc/frame.ts';
import { integerId } from '../../jsonrpc/id.ts';
import { errorCodeOf, parseResult } from '../../jsonrpc/parse.ts';
import { scan } from '../../jsonrpc/scan.ts';
import { HEADER_MISMATCH } from '../../mcp/errors.ts';
import { CANCELLED, INITIALIZE, INITIALIZED, TOOLS_CALL, TOOLS_LIST } from '../../mcp/methods.ts';
import type { Logger } from '../../observe/logger.ts';
import type { ChannelEvents, RequestFailure, ServerChannel } from '../../ports/channel.ts';
import type { Principal } from '../../ports/principal.ts';
import { HttpFailure } from '../credentials/http-failure.ts';
import { NO_ROOM } from '../remote/answer-body.ts';
import type { HttpAnswer, RemoteOptions, RemoteParts } from '../remote/http-endpoint.ts';
import {
  cannotStart,
  type HttpRefusal,
  hintsAtLostSession,
  isAnswerTo,
  isModernRefusal,
  isSessionText,
  refusalOf,
  withId,
} from '../remote/refusals.ts';
import { SessionLoss } from '../remote/session.ts';
import { HttpLink } from './link.ts';
import { ListeningStream } from './listening-stream.ts';
import { Outgoing, PostWatch } from './outgoing.ts';
import { ENDED_EARLY, failureOfLost, type PostTaker, readPostAnswer } from './post-answer.ts';
import { ServerCheck } from './server-check.ts';

/** How long a server may take to accept a message without an answer. */
const ACCEPT_MS = 30_000;
/** The most messages in flight without an answer; more are dropped. */
const MAX_UNANSWERED = 1_024;
/** What a message without an answer costs of the server's reading quota, in bytes. */
const MESSAGE_COST = 8 * 1024;
const SESSION_ID = /^[\x21-\x7e]{1,1024}$/;

export interface HttpChannelParts extends RemoteParts {
  /**
   * The server does not support this transport. Called instead of `closed`, with the message that was
   * refused.
   */
  readonly notSpoken?: ((initialize: Buffer, refusal: HttpRefusal) => void) | undefined;
}

/** A remote server. */
export class HttpChannel implements ServerChannel {
  readonly pid = undefined;
  readonly lastStderrLine = '';
  readonly #options: RemoteOptions;
  readonly #events: ChannelEvents;
  readonly #logger: Logger;
  readonly #parts: HttpChannelParts;
  readonly #link: HttpLink;
  readonly #check: ServerCheck;
  readonly #posts = new Set<Outgoing>();
  readonly #watch = new PostWatch(this.#posts, (id) => this.#events.awaits(id));
  readonly #taker: PostTaker = {
    isMissing: (id) => this.#isMissing(id),
    deliver: (out, id, bytes, answer) => this.#deliver(out, id, bytes, answer),
    oversize: (...dropped) => this.#events.oversize(...dropped),
  };
  /**
   * Messages that wait until the server has accepted `notifications/initialized`; undefined if none has to
   * wait.
   */
  #waiting: Outgoing[] | undefined;
  #listening: ListeningStream | undefined;
  readonly #loss: SessionLoss;
  #isDropping = false;
  #isOver = false;

  constructor(target: { readonly url: string }, options: RemoteOptions, parts: HttpChannelParts) {
    this.#options = options;
    this.#parts = parts;
    this.#events = parts.events;
    this.#logger = parts.logger;
    this.#link = new HttpLink(target, options, parts);
    this.#loss = new SessionLoss(
      () => [...this.#posts].some(({ id, isBegun }) => id !== undefined && !isBegun),
      () => this.#end('session_lost'),
    );
    this.#check = new ServerCheck(this.#link, {
      hasOlderCalls: ({ id = 0 }) => [...this.#posts].some((post) => (post.id ?? id) < id),
      sessionGone: () => this.#lose(),
      refuses: ({ what }) => this.#end(`stopped_serving: it ${what}`),
    });
  }

  get isWritable(): boolean {
    return true;
  }

  send(message: Buffer, from?: Principal): boolean {
    if (this.#isOver) return false;
    const out = new Outgoing(message, from);
    if (out.method === CANCELLED && this.#cancel(out)) return true;
    if (this.#loss.isKnown) this.#loss.noteNotTaken(out.id);
    else if (this.#waiting === undefined) return this.#start(out);
    else this.#waiting.push(out.hold(this.#parts.owner()));
    return true;
  }

  async close(): Promise<void> {
    this.#isOver = true;
    this.#letGo();
    await this.#link.deleteSession(this.#options.timeouts.stop);
    await this.#link.endpoint.close();
  }

  /** @returns false if it was dropped */
  #start(out: Outgoing): boolean {
    if (out.id === undefined && this.#posts.size > this.#options.limits.inFlight + MAX_UNANSWERED) {
      if (!this.#isDropping) this.#logger.warn('server does not accept messages: they are dropped');
      this.#isDropping = true;
      return false;
    }
    // A server that sends many requests gets as many answers, which cost more than reading its requests.
    if (out.id === undefined) this.#link.endpoint.quota.spend(MESSAGE_COST);
    this.#posts.add(out);
    out.hold(this.#parts.owner());
    this.#watch.begin();
    if (out.method === INITIALIZED) this.#waiting = [];
    void this.#run(out).finally(() => this.#ended(out));
    return true;
  }

  #ended(out: Outgoing): void {
    this.#posts.delete(out);
    out.letGo(this.#parts.owner());
    if (this.#posts.size <= this.#options.limits.inFlight) this.#isDropping = false;
    out.cancels?.abort();
    this.#loss.look();
    if (out.method !== INITIALIZED) return;
    const waiting = this.#takeWaiting();
    if (!this.#isOver) for (const one of waiting) this.#start(one);
  }

  /** @returns whether that is all: for a modern server, closing the POST cancels the call */
  #cancel(notice: Outgoing): boolean {
    const { bytes, requestIdStart, requestIdEnd } = notice.frame;
    const id = integerId(bytes, requestIdStart, requestIdEnd);
    const call = [...this.#posts].find((post) => post.id === id);
    if (call?.isModern === true) {
      call.abort();
      return true;
    }
    // Nobody waits for further output of this call, and otherwise its stream would stay open.
    notice.cancels = call;
    if (call !== undefined) call.isCancelled = true;
    return this.#link.session === undefined;
  }

  async #run(out: Outgoing): Promise<void> {
    const quiet = this.#link.endpoint.quiet(out.from);
    try {
      if (quiet !== undefined && out.id !== undefined) throw new HttpFailure(quiet);
      const { requestMax: requestMaxMs } = this.#options.timeouts;
      const answer = await this.#link.endpoint.request({
        method: 'POST',
        headers: this.#link.headersOf(out),
        body: out.frame.bytes,
        signal: out.signal,
        isCall: out.isCall,
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
    this.#listening = new ListeningStream(this.#link, {
      refused: (refusal, wasOpen) => this.#onStreamRefused(out, refusal, wasOpen),
      unreachable: () => this.#end('unreachable'),
      message: (bytes) => this.#events.received(bytes),
      oversize: (...dropped) => this.#events.oversize(...dropped),
    });
  }

  /** @returns whether the session is lost */
  async #onStreamRefused(out: Outgoing, refusal: HttpRefusal, wasOpen: boolean): Promise<boolean> {
    const { saysSessionIsGone, isAboutSession } = refusal;
    if (!saysSessionIsGone && !isAboutSession) return false;
    // Some servers have no such stream, and answer with 404.
    const isSure = wasOpen && saysSessionIsGone;
    const isGone = isSure || (await this.#check.ask(out)) === 'session_gone';
    if (isGone) this.#lose();
    return isGone;
  }

  async #onAnswer(out: Outgoing, id: number, answer: HttpAnswer): Promise<void> {
    out.isBegun = true;
    const failure = await readPostAnswer(this.#link, this.#taker, { out, id, answer });
    await out.doubt;
    const isBrokenOff = failure === ENDED_EARLY && this.#isMissing(id);
    if (isBrokenOff && out.repeat()) await this.#run(out);
    else if (out.method === INITIALIZE && failure.isLasting === true)
      this.#end(cannotStart(failure));
    else this.#fail(out, failure);
  }

  #deliver(out: Outgoing, id: number, bytes: Buffer, answer: HttpAnswer): void {
    if (this.#isOver) return;
    if (out.method === INITIALIZE) this.#noteSession(scan(bytes), answer);
    else if (this.#isInSession(out) && hintsAtLostSession(bytes)) {
      out.doubt = this.#doubt(out, id, bytes);
      return;
    }
    const message =
      out.isModern && out.method === TOOLS_LIST ? this.#link.tools.learn(bytes) : bytes;
    if (message instanceof Promise) out.doubt = message.then((list) => this.#receive(list, id));
    else this.#events.received(message, id);
  }

  #receive(message: Buffer, id: number): void {
    if (!this.#isOver) this.#events.received(message, id);
  }

  /** An answer that may mean a lost session. If the session is not lost, it is the server's answer. */
  async #doubt(out: Outgoing, id: number, bytes: Buffer): Promise<void> {
    const verdict = await this.#check.ask(out);
    const isRefusal = isSessionText(bytes) || !isAnswerTo(scan(bytes), id);
    // A further answer may be about what the server did.
    if (verdict !== 'session_gone' || !isRefusal) this.#events.received(bytes, id);
    if (verdict === 'session_gone') this.#lose(isRefusal ? out : undefined);
  }

  #noteSession(frame: Frame, answer: HttpAnswer): void {
    if (frame.kind !== 'response' || frame.resultStart < 0) return;
    const id = answer.header('mcp-session-id');
    const version = parseResult(frame)?.['protocolVersion'];
    this.#link.session = {
      id: id !== undefined && SESSION_ID.test(id) ? id : undefined,
      version: typeof version === 'string' ? version : '',
    };
  }

  async #onRefused(out: Outgoing, answer: HttpAnswer): Promise<void> {
    const refusal = await refusalOf(answer, out.id, this.#link.maxBytes);
    if (this.#isOver) return;
    if (out.isHandshake) this.#onHandshakeRefused(out, answer.status, refusal);
    else if (await this.#isSessionGone(out, refusal)) this.#lose(out);
    else await this.#onMessageRefused(out, refusal);
  }

  #onHandshakeRefused(out: Outgoing, status: number, refusal: HttpRefusal): void {
    const { failure, error, answer, isNoEvidence } = refusal;
    const isAnswer = answer !== undefined && status >= 500;
    if (isNoEvidence && !isAnswer) this.#end(cannotStart(failure));
    else if (out.method === INITIALIZE && this.#isNotSpoken(status, error))
      this.#parts.notSpoken?.(out.frame.bytes, refusal);
    else this.#onRefusal(out, refusal);
  }

  async #onMessageRefused(out: Outgoing, refusal: HttpRefusal): Promise<void> {
    const { status, error, answer, isNoEvidence } = refusal;
    if (isNoEvidence || (error === undefined && answer === undefined)) void this.#check.watch(out);
    if (out.id === undefined) {
      this.#logger.debug({ method: out.method, status }, 'server refused a message');
    } else if (error !== undefined && this.#mayHaveStaleHeaders(out, error)) {
      await this.#callWithNewHeaders(out);
    } else {
      this.#onRefusal(out, refusal);
    }
  }

  /** A JSON-RPC response is the answer, whatever the status is. */
  #onRefusal(out: Outgoing, { answer, error, failure }: HttpRefusal): void {
    const { id } = out;
    if (id === undefined || this.#isOver) return;
    if (answer !== undefined) this.#events.received(answer, id);
    else if (error !== undefined) this.#events.received(withId(error, id), id);
    // Has no effect if that was its answer.
    this.#fail(out, failure);
  }

  /** How a server of an older transport answers a POST (docs/protocol.md#httpsse). */
  #isNotSpoken(status: number, error: Frame | undefined): boolean {
    if (this.#parts.notSpoken === undefined || ![400, 404, 405].includes(status)) return false;
    return error === undefined || !isModernRefusal(error);
  }

  #isInSession(out: Outgoing): boolean {
    return this.#link.session !== undefined && !out.isModern;
  }

  /** By its status, or by its text together with a check. */
  async #isSessionGone(out: Outgoing, refusal: HttpRefusal): Promise<boolean> {
    if (!this.#isInSession(out)) return false;
    const { status, saysSessionIsGone, isAboutSession } = refusal;
    if (saysSessionIsGone && this.#link.session?.id !== undefined) return true;
    // A server with an internal error may have begun to work on the request, whatever it says.
    if (!saysSessionIsGone && !(isAboutSession && status < 500)) return false;
    return (await this.#check.ask(out)) === 'session_gone';
  }

  #mayHaveStaleHeaders(out: Outgoing, error: Frame): boolean {
    const isMismatch = errorCodeOf(error) === HEADER_MISMATCH;
    return isMismatch && out.isModern && out.method === TOOLS_CALL && !out.hasNewHeaders;
  }

  async #callWithNewHeaders(out: Outgoing): Promise<void> {
    out.hasNewHeaders = true;
    this.#logger.debug('server needs other headers: listing its tools again');
    await this.#link.refreshTools(out);
    await this.#run(out);
  }

  async #onLost(out: Outgoing, error: unknown): Promise<void> {
    if (this.#isOver) return;
    const isUnreachable = error instanceof HttpFailure && error.isUnreachable;
    const failure = failureOfLost(out, error);
    if (failure === NO_ROOM) {
      this.#fail(out, failure);
    } else if (out.isHandshake && !out.signal.aborted) {
      this.#end(cannotStart(failure));
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
    return !this.#isOver && !this.#loss.notTaken.has(id) && this.#events.awaits(id);
  }

  #fail(out: Outgoing, failure: RequestFailure): void {
    if (out.id === undefined || this.#isOver || this.#loss.notTaken.has(out.id)) return;
    this.#events.failed(out.id, failure);
  }

  /**
   * The server does not know the session.
   * @param refused the message that it did not take
   */
  #lose(refused?: Outgoing): void {
    if (this.#isOver) return;
    if (refused !== undefined) this.#loss.noteNotTaken(refused.id);
    this.#listening?.close();
    this.#loss.begin();
    if (refused === undefined) this.#loss.look();
  }

  #end(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (reason === 'session_lost') this.#link.session = undefined;
    for (const out of this.#waiting ?? []) this.#loss.noteNotTaken(out.id);
    this.#letGo();
    this.#events.closed(reason, this.#loss.notTaken);
  }

  #takeWaiting(): readonly Outgoing[] {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const out of waiting) out.letGo(this.#parts.owner());
    return waiting;
  }

  #letGo(): void {
    this.#loss.stop();
    this.#watch.stop();
    this.#check.close();
    this.#listening?.close();
    this.#takeWaiting();
    for (const post of this.#posts) post.abort();
  }
}
