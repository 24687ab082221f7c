// A client's request, from when it is read until it is answered. Restores the caller's id, makes sure that
// there is at most one answer, and passes on a cancellation.

import { monotonicMs } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import { type Holding, LARGE_HOLDING } from '../base/held-bytes.ts';
import type { WireError } from '../jsonrpc/error.ts';
import { Frame, GONE } from '../jsonrpc/frame.ts';
import { errorCodeOf, parseString } from '../jsonrpc/parse.ts';
import { errorMessage, resultMessage, resultParts } from '../jsonrpc/serialize.ts';
import { replaceSpan } from '../jsonrpc/splice.ts';
import { wireErrorOf } from '../mcp/errors.ts';
import { FAILURES } from '../mcp/failures.ts';
import { TOOLS_CALL } from '../mcp/methods.ts';
import { readableContent, readableResult } from '../mcp/old-content.ts';
import type { RequestOutcome } from '../observe/metrics.ts';
import type { RequestMeter } from '../observe/request-meter.ts';
import type { Downstream } from '../ports/downstream.ts';
import { type Denial, type Principal, quotaKeyOf } from '../ports/principal.ts';
import {
  type Canceller,
  contain,
  Denied,
  type Headers,
  type Outcome,
  type Request,
} from '../ports/request.ts';
import type { ResponseWriter } from '../ports/response-writer.ts';

/** Called when a request is over. */
export interface RequestOwner {
  settled(request: ClientRequest): void;
}

/** Up to this size, copying an answer is cheaper than sending it in pieces. */
const COPIED_BYTES = 64 * 1024;
const NULL_ID = Buffer.from('null');

/** One request of one client. */
export class ClientRequest implements Request {
  /** Freed when nobody waits for the answer, because other objects may still refer to the request. */
  frame: Frame;
  readonly client: Downstream;
  readonly headers: Headers | undefined;
  canceller: Canceller | undefined = undefined;
  readonly #writer: ResponseWriter;
  readonly #owner: RequestOwner;
  readonly #meter: RequestMeter;
  readonly #startedMs = monotonicMs();
  /** The caller. Meanwhile the session may continue with other credentials of the same principal. */
  readonly #principal: Principal;
  #isSettled = false;
  /** Bytes counted for its request while it is in flight. */
  #heldBytes = 0;
  /** The same for a large request. */
  #holding: Holding | undefined;

  constructor(
    frame: Frame,
    parts: {
      readonly client: Downstream;
      readonly owner: RequestOwner;
      readonly writer: ResponseWriter;
      readonly meter: RequestMeter;
      readonly headers?: Headers | undefined;
    },
  ) {
    this.frame = frame;
    this.client = parts.client;
    this.headers = parts.headers;
    this.#owner = parts.owner;
    this.#writer = parts.writer;
    this.#meter = parts.meter;
    this.#principal = parts.client.principal;
    this.#meter.begun(quotaKeyOf(this.#principal));
  }

  /**
   * Counts its bytes as held for its client until it is settled.
   * @returns false if there is no room; the refusal is counted
   */
  takeRoom(length = this.frame.bytes.length): boolean {
    const owner = this.#meter.heldFor(this.#principal);
    if (!owner.hasRoom(length)) {
      this.#meter.refusedForRoom();
      return false;
    }
    if (length > LARGE_HOLDING) {
      this.#holding = owner.hold('call', length, () => this.#cut());
    } else {
      owner.add('call', length);
      this.#heldBytes = length;
    }
    return true;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  get #id(): Buffer {
    return this.frame.idBytes ?? NULL_ID;
  }

  settle(outcome: Outcome): void {
    if (outcome instanceof Frame) this.#respond(outcome);
    else if (Buffer.isBuffer(outcome)) this.#answer(outcome);
    else if (outcome instanceof GatewayError) this.#fail(outcome);
    else if (outcome instanceof Denied) this.#refuse(outcome.error, outcome.denial);
    else this.#refuse(outcome);
  }

  #respond(answer: Frame): void {
    const { bytes, contentStart, contentEnd } = answer;
    if (this.frame.method !== TOOLS_CALL || contentStart < 0) {
      this.#endWith(answer);
      return;
    }
    const readable = readableContent(bytes, contentStart, contentEnd, this.client.version);
    if (readable instanceof Promise) {
      contain(
        this,
        readable.then((text) => this.#endWith(withContent(answer, text))),
      );
    } else this.#endWith(withContent(answer, readable));
  }

  #endWith(answer: Frame): void {
    const isResult = answer.resultStart >= 0;
    if (!this.#over(isResult ? 'ok' : 'error', answer.bytes.length)) return;
    const { bytes, idStart, idEnd } = answer;
    const code = isResult ? undefined : errorCodeOf(answer);
    if (bytes.length > COPIED_BYTES && this.#writer.endInParts !== undefined) {
      const parts = [bytes.subarray(0, idStart), this.#id, bytes.subarray(idEnd)];
      this.#writer.endInParts(parts, code);
      return;
    }
    this.#writer.end(replaceSpan(bytes, idStart, idEnd, this.#id), code);
  }

  #answer(result: Buffer): void {
    const isCall = this.frame.method === TOOLS_CALL;
    const readable = isCall ? readableResult(result, this.client.version) : result;
    if (readable instanceof Promise)
      contain(
        this,
        readable.then((text) => this.#endWithResult(text)),
      );
    else this.#endWithResult(readable);
  }

  #endWithResult(readable: Buffer): void {
    if (!this.#over('ok', readable.length)) return;
    if (readable.length > COPIED_BYTES && this.#writer.endInParts !== undefined) {
      this.#writer.endInParts(resultParts(this.#id, readable));
      return;
    }
    this.#writer.end(resultMessage(this.#id, readable));
  }

  #refuse(error: WireError, denial?: Denial): void {
    if (!this.#over('error')) return;
    const message = errorMessage(this.#id, error);
    if (denial === undefined || this.#writer.forbid === undefined) {
      this.#writer.end(message, error.code);
    } else this.#writer.forbid(message, denial.scopes);
  }

  #fail(failure: GatewayError): void {
    if (!this.#over('failed')) return;
    this.#meter.failed(failure);
    this.#writer.end(errorMessage(this.#id, wireErrorOf(failure)));
    this.#letGo();
  }

  push(...message: readonly Buffer[]): boolean {
    return !this.#isSettled && this.#writer.push(...message);
  }

  /**
   * The caller no longer wants the answer, or has disconnected.
   * @param notice the caller's cancellation, if there was one
   */
  cancel(notice: Frame | undefined): void {
    if (!this.#over('cancelled')) return;
    this.canceller?.cancel(notice);
    this.#writer.abandon();
    this.#letGo();
  }

  /** Dropped because too much is held. The server may have run it. */
  #cut(): void {
    const outcome = this.canceller?.id === undefined ? 'not_sent' : 'unknown';
    if (!this.#over('failed')) return;
    this.canceller?.cancel(undefined);
    const failure = FAILURES.tooMuchHeld(outcome);
    this.#writer.end(errorMessage(this.#id, wireErrorOf(failure)));
    this.#letGo();
  }

  #giveRoomBack(): void {
    this.#holding?.release();
    if (this.#heldBytes > 0) this.#meter.heldFor(this.#principal).remove('call', this.#heldBytes);
    this.#heldBytes = 0;
  }

  #letGo(): void {
    this.frame = GONE;
    this.canceller = undefined;
  }

  #over(outcome: RequestOutcome, responseBytes = 0): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    this.#giveRoomBack();
    this.#owner.settled(this);
    const durationMs = monotonicMs() - this.#startedMs;
    this.#meter.ended(quotaKeyOf(this.#principal));
    this.#meter.record(this.frame.method, outcome, durationMs / 1_000);
    if (this.#meter.isAudited) this.#audit(outcome, durationMs, responseBytes);
    return true;
  }

  #audit(outcome: RequestOutcome, durationMs: number, responseBytes: number): void {
    const { bytes, method, nameStart, nameEnd, uriStart, uriEnd } = this.frame;
    this.#meter.audited({
      principal: this.#principal,
      method,
      target: parseString(bytes, nameStart, nameEnd) ?? parseString(bytes, uriStart, uriEnd),
      outcome,
      durationMs,
      requestBytes: bytes.length,
      responseBytes,
    });
  }
}

/** An answer with other content. Its other members stay where they were, or move. */
function withContent(answer: Frame, bytes: Buffer): Frame {
  if (bytes === answer.bytes) return answer;
  return answer.replaced(bytes, answer.contentEnd, bytes.length - answer.bytes.length);
}
