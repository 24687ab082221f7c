// A client's request from the moment it is read to the moment it is answered. Restores the caller's
// id, guarantees that there is one answer at most, and tells whoever holds it of a cancel.

import { monotonicMs } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import { type Holding, LARGE_HOLDING } from '../base/held-bytes.ts';
import type { WireError } from '../jsonrpc/error.ts';
import { type Frame, GONE } from '../jsonrpc/frame.ts';
import { errorCodeOf, parseString } from '../jsonrpc/parse.ts';
import { errorMessage, resultMessage, resultParts } from '../jsonrpc/serialize.ts';
import { replaceSpan } from '../jsonrpc/splice.ts';
import { wireErrorOf } from '../mcp/errors.ts';
import { TOOLS_CALL } from '../mcp/methods.ts';
import { readableContent, readableResult } from '../mcp/old-content.ts';
import type { RequestOutcome } from '../observe/metrics.ts';
import { type RequestMeter, TOO_MUCH_HELD } from '../observe/request-meter.ts';
import { contain } from '../ports/contain.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Exchange, ExchangeHolder } from '../ports/exchange.ts';
import { type Denial, type Principal, quotaKeyOf } from '../ports/principal.ts';
import type { AnswerSink } from '../ports/sink.ts';

/** Told when an exchange is over. */
export interface ExchangeOwner {
  settled(exchange: ClientExchange): void;
}

/** Up to here copying an answer is cheaper than sending it in pieces. */
const COPIED_BYTES = 64 * 1024;
const NULL_ID = Buffer.from('null');

/** One request of one client. */
export class ClientExchange implements Exchange {
  /** Gone when nobody wants the answer any more, since somebody may hold on to the exchange. */
  frame: Frame;
  readonly client: Downstream;
  holder: ExchangeHolder | undefined = undefined;
  readonly #sink: AnswerSink;
  readonly #owner: ExchangeOwner;
  readonly #meter: RequestMeter;
  readonly #startedMs = monotonicMs();
  /** Who asked; a session may be continued with other proof of the same identity meanwhile. */
  readonly #principal: Principal;
  #isSettled = false;
  /** What is counted for its request, while it is in flight. */
  #heldBytes = 0;
  /** The same for a large one. */
  #holding: Holding | undefined;

  constructor(
    frame: Frame,
    parts: {
      client: Downstream;
      owner: ExchangeOwner;
      sink: AnswerSink;
      meter: RequestMeter;
    },
  ) {
    this.frame = frame;
    this.client = parts.client;
    this.#owner = parts.owner;
    this.#sink = parts.sink;
    this.#meter = parts.meter;
    this.#principal = parts.client.principal;
    this.#meter.begun(quotaKeyOf(this.#principal));
  }

  /**
   * Counts its request as held for its client until it is settled.
   * @returns false when there is no room for it; the refusal was counted
   */
  takeRoom(): boolean {
    const owner = this.#meter.heldFor(this.#principal);
    const length = this.heldSize;
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

  /** What it costs to keep. */
  protected get heldSize(): number {
    return this.frame.bytes.length;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  get #id(): Buffer {
    return this.frame.idBytes ?? NULL_ID;
  }

  respond(answer: Frame): void {
    const { bytes, contentStart, contentEnd } = answer;
    if (this.frame.method !== TOOLS_CALL || contentStart < 0) {
      this.#respond(answer);
      return;
    }
    const readable = readableContent(bytes, contentStart, contentEnd, this.client.version);
    if (readable instanceof Promise) {
      contain(
        this,
        readable.then((text) => this.#respond(withContent(answer, text))),
      );
    } else this.#respond(withContent(answer, readable));
  }

  #respond(answer: Frame): void {
    const isResult = answer.resultStart >= 0;
    if (!this.#settle(isResult ? 'ok' : 'error', answer.bytes.length)) return;
    const { bytes, idStart, idEnd } = answer;
    if (isResult && bytes.length > COPIED_BYTES && this.#sink.endInParts !== undefined) {
      this.#sink.endInParts([bytes.subarray(0, idStart), this.#id, bytes.subarray(idEnd)]);
      return;
    }
    const message = replaceSpan(bytes, idStart, idEnd, this.#id);
    this.#sink.end(message, isResult ? undefined : errorCodeOf(answer));
  }

  answer(result: Buffer): void {
    const isCall = this.frame.method === TOOLS_CALL;
    const readable = isCall ? readableResult(result, this.client.version) : result;
    if (readable instanceof Promise)
      contain(
        this,
        readable.then((text) => this.#answer(text)),
      );
    else this.#answer(readable);
  }

  #answer(readable: Buffer): void {
    if (!this.#settle('ok', readable.length)) return;
    if (readable.length > COPIED_BYTES && this.#sink.endInParts !== undefined) {
      this.#sink.endInParts(resultParts(this.#id, readable));
      return;
    }
    this.#sink.end(resultMessage(this.#id, readable));
  }

  refuse(error: WireError, denial?: Denial): void {
    if (!this.#settle('error')) return;
    const message = errorMessage(this.#id, error);
    if (denial === undefined || this.#sink.forbid === undefined) {
      this.#sink.end(message, error.code);
    } else this.#sink.forbid(message, denial.scopes);
  }

  fail(failure: GatewayError): void {
    if (!this.#settle('failed')) return;
    this.#meter.failed(failure);
    this.#sink.end(errorMessage(this.#id, wireErrorOf(failure)));
    this.#letGo();
  }

  push(message: Buffer): boolean {
    return !this.#isSettled && this.#sink.push(message);
  }

  /**
   * The caller does not want the answer any more, or is gone.
   * @param notice what it sent to say so
   */
  cancel(notice: Frame | undefined): void {
    if (!this.#settle('cancelled')) return;
    this.holder?.cancel(notice);
    this.#sink.abandon();
    this.#letGo();
  }

  /** It has to go, since too much is held. The server may have run it. */
  #cut(): void {
    const outcome = this.holder?.id === undefined ? 'not_sent' : 'unknown';
    if (!this.#settle('failed')) return;
    this.holder?.cancel(undefined);
    const failure = new GatewayError('overloaded', TOO_MUCH_HELD, { outcome });
    this.#sink.end(errorMessage(this.#id, wireErrorOf(failure)));
    this.#letGo();
  }

  #giveRoomBack(): void {
    this.#holding?.release();
    if (this.#heldBytes > 0) this.#meter.heldFor(this.#principal).remove('call', this.#heldBytes);
    this.#heldBytes = 0;
  }

  #letGo(): void {
    this.frame = GONE;
    this.holder = undefined;
  }

  #settle(outcome: RequestOutcome, responseBytes = 0): boolean {
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

/** An answer with other content: its other members are where they were, or moved. */
function withContent(answer: Frame, bytes: Buffer): Frame {
  if (bytes === answer.bytes) return answer;
  return answer.replaced(bytes, answer.contentEnd, bytes.length - answer.bytes.length);
}
