// One call of a modern client at a legacy server. For the server it is the call of a separate client, so that
// a server request belongs to exactly this call. For the client it answers each round of the request, and is
// suspended between rounds (docs/protocol.md#suspended-calls).
import { after, type Timer, wallClockMs } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import { INVALID_PARAMS } from '../jsonrpc/error.ts';
import { Frame, GONE } from '../jsonrpc/frame.ts';
import { OPEN_BRACE } from '../jsonrpc/json-text.ts';
import { isObject, parsedCost, parseParams, parseSpan, textParam } from '../jsonrpc/parse.ts';
import { scan } from '../jsonrpc/scan.ts';
import { inOnePart } from '../jsonrpc/splice.ts';
import { copyText } from '../jsonrpc/text-walk.ts';
import { type ClientCapabilities, refusalFor } from '../mcp/capabilities.ts';
import { ERRORS, missingCapability, notOfferedByClient, UNASKABLE } from '../mcp/errors.ts';
import { FAILURES } from '../mcp/failures.ts';
import { levelOf } from '../mcp/log-levels.ts';
import { ELICITATION, TOOLS_LIST } from '../mcp/methods.ts';
import { isCacheable, mayAskInput } from '../mcp/modern-methods.ts';
import { type Downstream, replyForNobody, type ServerRequest } from '../ports/downstream.ts';
import type { Lease } from '../ports/lease.ts';
import type { Principal } from '../ports/principal.ts';
import {
  type Canceller,
  contain,
  type Outcome,
  type Request,
  responseOf,
} from '../ports/request.ts';
import { SilentClient } from '../ports/silent-client.ts';
import { failedCall, modernError } from './errors.ts';
import { inputRequired, requiredCapability } from './input-requests.ts';
import { KeyedServerRequests } from './keyed-server-requests.ts';
import { digestOf, type StateClaims, type StateSealer } from './request-state.ts';
import { legacyRequest, withTokenOf } from './request-text.ts';
import type { ModernResultEncoder } from './result-text.ts';
import type { SuspendableCall, SuspendedCalls } from './suspended-calls.ts';
import { modernToolList } from './tool-lists.ts';
import { requiredUrlElicitations, UrlElicitations } from './url-elicitations.ts';

/** Server requests within this time are sent in one result. */
const COALESCE_MS = 20;
/**
 * How long a server may take to end a call after its server requests were answered for a client that did not
 * return.
 */
const LEAVE_MS = 1_000;
/** How often a server may require URLs to be opened first. */
const MAX_URL_ELICITATIONS = 10;
const UNVISITED = 'The client did not agree to open a URL that the server requires.';
/**
 * The client seems to support everything. What it does not support is refused here, so that the error can
 * name it.
 */
const ANYTHING: ClientCapabilities = {
  roots: {},
  sampling: { context: {}, tools: {} },
  elicitation: { form: {}, url: {} },
};

/** What the calls of modern clients at one server of an endpoint share. */
export interface ModernCalls {
  readonly endpoint: string;
  readonly suspendedCalls: SuspendedCalls<ModernToLegacy>;
  readonly sealer: StateSealer;
  /** The owner of a state, as it is sealed. */
  readonly ownerOf: (principal: Principal) => string;
}

/** The lease for a call; it is given up when the call is over. */
export interface CallPlace {
  readonly lease: Lease;
  readonly encoder: ModernResultEncoder;
}

/** A modern client's call at a legacy server, and the client that the server sees. */
export class ModernToLegacy extends SilentClient implements Request, Canceller, SuspendableCall {
  frame: Frame;
  readonly limitMs: number | undefined;
  canceller: Canceller | undefined = undefined;
  readonly #shared: ModernCalls;
  readonly #place: CallPlace;
  #send: (call: Request) => void;
  #request: Frame;
  #declared: ClientCapabilities;
  /** The rounds that wait for an answer: one, or two if the client sent a round again. */
  #waiting: Request[] = [];
  readonly #open = new KeyedServerRequests();
  #round = 0;
  #suspendedId: string | undefined;
  #lastResponses: Buffer | undefined;
  #missing: Record<string, unknown> | undefined;
  #urlElicitations = 0;
  #coalescing: Timer | undefined;
  /** Set if the client did not return: when the server is told to cancel. */
  #leaving: Timer | undefined;
  /** The server's answer, until the client's next round. */
  #kept: Frame | GatewayError | undefined;
  #isSettled = false;
  #isOver = false;

  /** @param send sends it to the server */
  constructor(
    request: Request,
    place: CallPlace,
    shared: ModernCalls,
    send: (call: Request) => void,
  ) {
    const { client, frame, limitMs } = request;
    const { version, info } = client;
    const said = { version, info, capabilities: ANYTHING };
    super(client.principal, said, UNASKABLE.modern, client.logThreshold);
    this.#shared = shared;
    this.#place = place;
    this.#send = send;
    this.#request = frame;
    this.frame = legacyRequest(frame);
    this.limitMs = limitMs;
    this.#declared = client.capabilities;
    this.#wait(request);
  }

  get client(): Downstream {
    return this;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** The id that the server sees. */
  get id(): number | undefined {
    return this.canceller?.id;
  }

  /** Sends the call to the server, after the log level that it needs. */
  start(): void {
    if (this.logThreshold === Number.POSITIVE_INFINITY) this.#send(this);
    else contain(this, this.#startWithLogs());
  }

  async #startWithLogs(): Promise<void> {
    await this.#place.lease.join(levelOf(this.logThreshold));
    // The caller may have left while the log level was set.
    if (!this.#isOver) this.#send(this);
  }

  // For the server: the answer.

  settle(outcome: Outcome): void {
    if (this.#isSettled || this.#hasLeft()) return;
    const answer = outcome instanceof GatewayError ? outcome : responseOf(outcome);
    if (answer instanceof Frame) {
      if (this.#needsUrlElicitation(answer)) return;
      if (answer.resultStart >= 0 && answer.bytes[answer.resultStart] !== OPEN_BRACE) {
        this.settle(FAILURES.resultNoObject(this.#place.lease.server));
        return;
      }
    }
    this.#isSettled = true;
    if (this.#waiting.length > 0) {
      this.#deliver(answer);
      return;
    }
    this.#kept = answer instanceof Frame ? scan(copyText(answer.bytes)) : answer;
    this.#resized();
  }

  /** Sends the URLs to the client that the server requires before it executes the call. */
  #needsUrlElicitation(answer: Frame): boolean {
    if (answer.resultStart >= 0 || !mayAskInput(this.#request.method)) return false;
    const frames = requiredUrlElicitations(answer);
    if (frames.length === 0 || ++this.#urlElicitations > MAX_URL_ELICITATIONS) return false;
    if (refusalFor(this.#declared, ELICITATION, 'url') !== undefined) {
      this.#missing = { elicitation: { url: {} } };
      return false;
    }
    this.canceller = undefined; // the call at the server is over
    const urlElicitations = new UrlElicitations(frames, (isAgreed) => {
      if (isAgreed) this.#send(this);
      else this.settle(failedCall(this.#request.method, UNVISITED));
    });
    for (const serverRequest of urlElicitations.serverRequests) this.ask(serverRequest);
    return true;
  }

  push(...message: readonly Buffer[]): boolean {
    const [current] = this.#waiting;
    if (current === undefined) return false;
    // A retry may have another progress token than the first request.
    const isRetry = current.frame !== this.#request;
    return isRetry
      ? current.push(withTokenOf(current.frame, inOnePart(message)))
      : current.push(...message);
  }

  // For the server: the client that gets notifications and server requests.

  override ask(serverRequest: ServerRequest): void {
    const { frame } = serverRequest;
    if (this.#leaving !== undefined) {
      serverRequest.settle(replyForNobody(serverRequest));
      this.#leave(undefined);
      return;
    }
    const refusal = refusalFor(this.#declared, frame.method, textParam(frame, 'mode'));
    if (refusal === undefined && this.#open.add(serverRequest)) {
      this.#resized();
      this.#promptSoon();
    } else {
      this.#missing = { ...this.#missing, ...requiredCapability(frame) };
      const notOffered = notOfferedByClient(frame.method);
      serverRequest.settle(
        refusal === 'mode' ? { ...notOffered, code: INVALID_PARAMS } : notOffered,
      );
    }
  }

  override withdraw(serverRequest: ServerRequest): void {
    this.#open.withdraw(serverRequest);
  }

  // For the client: its rounds.

  /** The client closed the stream of a round, or cancelled it. */
  cancel(notice: Frame | undefined): void {
    this.#waiting = this.#waiting.filter((request) => !request.isSettled);
    if (this.#waiting.length > 0 || this.#isOver) return;
    this.#leave(notice);
  }

  /**
   * The client returned with its next round.
   * @param claims of its state, which belongs to this call
   */
  resume(request: Request, claims: StateClaims): void {
    const { frame } = request;
    const responses = frame.slice(frame.responsesStart, frame.responsesEnd);
    if (responses !== undefined && !isObject(parseSpan(responses, 0, responses.length))) {
      request.settle(ERRORS.badInputResponses);
      return;
    }
    const isRepeated = claims.round === this.#round - 1 || this.#waiting.length > 0;
    if (claims.round === this.#round && this.#waiting.length === 0) {
      this.#take(request, responses);
    } else if (isRepeated && isSame(responses, this.#lastResponses)) {
      this.#wait(request);
      this.#continue();
    } else {
      request.settle(ERRORS.usedState);
    }
  }

  get heldBytes(): number {
    const { bytes, metaStart, metaEnd } = this.#request;
    const kept = this.#kept instanceof Frame ? this.#kept.bytes.length : 0;
    const texts = bytes.length + this.frame.bytes.length + kept;
    const rounds = this.#open.bytes + (this.#lastResponses?.length ?? 0);
    return texts + rounds + parsedCost(bytes, metaStart, metaEnd);
  }

  #resized(): void {
    if (this.#suspendedId !== undefined) this.#shared.suspendedCalls.resized(this.#suspendedId);
  }

  refused(failure: GatewayError): void {
    this.#open.answerForNobody();
    this.#settleWaiting(() => failure);
    this.#leave(undefined);
  }

  expired(): void {
    this.#suspendedId = undefined;
    // The client has returned already, and waits for the server. The call is suspended again at the next
    // server request.
    if (this.#waiting.length > 0) return;
    // A server ends a call whose form was dismissed, but never answers a cancelled one. And an unanswered
    // call stays a candidate for server requests (docs/adr/0003).
    this.#leaving = after(LEAVE_MS, () => this.#leave(undefined));
    this.#open.answerForNobody();
  }

  #leave(notice: Frame | undefined): void {
    this.#end();
    this.canceller?.cancel(notice);
    this.#letGo();
  }

  /**
   * The server may still work on it and send requests. Until then, only its owner is kept, and nothing large.
   */
  #letGo(): void {
    this.frame = GONE;
    this.#request = GONE;
    this.#declared = {};
    this.info = undefined;
    this.#missing = undefined;
    this.#lastResponses = undefined;
    this.#kept = undefined;
    this.#send = () => undefined;
    this.#open.clear();
  }

  /** The server ended a call that its client has given up, so no answer is sent. */
  #hasLeft(): boolean {
    if (this.#leaving === undefined) return false;
    this.#isSettled = true;
    this.#end();
    this.#letGo();
    return true;
  }

  #wait(request: Request): void {
    this.#waiting.push(request);
    request.canceller = this;
  }

  #take(request: Request, responses: Buffer | undefined): void {
    this.#wait(request);
    this.#lastResponses = responses === undefined ? undefined : Buffer.from(responses);
    if (responses !== undefined) this.#open.answer(responses);
    this.#continue();
  }

  /**
   * Continues after a round has arrived: with the server's answer, with open server requests, or by waiting.
   */
  #continue(): void {
    if (this.#kept !== undefined) this.#deliver(this.#kept);
    else if (this.#open.size > 0) this.#promptSoon();
  }

  #promptSoon(): void {
    this.#coalescing ??= after(COALESCE_MS, () => this.#prompt());
  }

  /** Answers the round with the open server requests, and suspends the call. */
  #prompt(): void {
    this.#coalescing = undefined;
    if (this.#open.size === 0 || this.#waiting.length === 0 || this.#isOver) return;
    const { suspendedCalls, sealer, endpoint, ownerOf } = this.#shared;
    const suspendedId = suspendedCalls.suspend(this, this.#suspendedId);
    if (suspendedId === undefined) {
      this.#open.answerForNobody();
      return;
    }
    this.#suspendedId = suspendedId;
    const state = sealer.seal({
      suspendedId,
      principal: ownerOf(this.principal),
      endpoint,
      request: digestOf(this.#request.method, parseParams(this.#request)),
      round: ++this.#round,
      expiresAt: wallClockMs() + suspendedCalls.ttlMs,
    });
    const { encoder } = this.#place;
    this.#settleWaiting(() => encoder.addServerInfo(inputRequired(this.#open.all, state)));
  }

  #deliver(answer: Frame | GatewayError): void {
    this.#settleWaiting(() => this.#outcome(answer));
    this.#end();
    if (answer instanceof GatewayError) this.#letGo();
  }

  #outcome(answer: Frame | GatewayError): Outcome {
    if (answer instanceof GatewayError) return answer;
    if (answer.resultStart >= 0) return this.#result(answer);
    if (this.#missing !== undefined) return missingCapability(this.#missing);
    return modernError(this.#request, answer) ?? answer;
  }

  #result(answer: Frame): Buffer {
    const { method } = this.#request;
    const result = this.#place.encoder.modern(answer, isCacheable(method));
    return method === TOOLS_LIST ? modernToolList(result) : result;
  }

  #settleWaiting(outcome: () => Outcome): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const request of waiting) request.settle(outcome());
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#coalescing?.cancel();
    this.#leaving?.cancel();
    if (this.#suspendedId !== undefined) this.#shared.suspendedCalls.release(this.#suspendedId);
    this.#place.lease.leave();
  }
}

function isSame(a: Buffer | undefined, b: Buffer | undefined): boolean {
  return a === undefined || b === undefined ? a === b : a.equals(b);
}
