// The answer to a modern POST: JSON with a status that says the kind of error, or an event stream
// without ids that nobody can resume (2026-07-28 basic/transports/streamable-http).
import type { ServerResponse } from 'node:http';
import { monotonicMs } from '../../base/clock.ts';
import { METHOD_NOT_FOUND } from '../../jsonrpc/error.ts';
import { comment, messageEvent, messageEventParts } from '../../jsonrpc/sse-framing.ts';
import type { ResponseWriter } from '../../ports/response-writer.ts';
import { sendJson, sendJsonParts } from '../error-response.ts';
import type { Gatekeeper } from '../gatekeeper.ts';
import { cutIfSlow, type Reader } from '../slow-client.ts';
import { SseWriter } from '../sse-writer.ts';
import type { PendingResponse, StreamTimers } from '../stream-timers.ts';
import type { HttpCall } from './routes.ts';

const MISSING_CAPABILITY = -32021;
const HEADER_MISMATCH = -32020;
const TRANSPORT = 'streamable-http';

export interface ModernResponseContext extends Reader {
  readonly call: HttpCall;
  readonly gatekeeper: Gatekeeper;
  readonly streamTimers: StreamTimers;
  /** The client closed the stream before the answer: it does not want it any more. */
  gone(): void;
}

/** One modern POST's response. */
export class ModernResponseWriter implements ResponseWriter, PendingResponse {
  readonly sinceMs = monotonicMs();
  readonly #response: ServerResponse;
  readonly #context: ModernResponseContext;
  #writer: SseWriter | undefined;
  #isDone = false;

  constructor(response: ServerResponse, context: ModernResponseContext) {
    this.#response = response;
    this.#context = context;
    context.streamTimers.expect(this);
    response.once('close', () => this.#closed());
  }

  push(message: Buffer): boolean {
    if (this.#isDone) return false;
    this.beginStream();
    this.#writer?.write(messageEvent(message));
    return true;
  }

  end(message: Buffer, code?: number): void {
    if (this.#isDone) return;
    this.#finish();
    if (this.#writer !== undefined) {
      this.#writer.write(messageEvent(message));
      this.#writer.end();
    } else if (!this.#response.destroyed) {
      sendJson(this.#response, statusOf(code), message);
      cutIfSlow(this.#response, this.#context);
    }
  }

  /** With a status of its own, unless a stream has begun. */
  forbid(message: Buffer, scopes: readonly string[]): void {
    if (this.#isDone || this.#writer !== undefined) {
      this.end(message);
      return;
    }
    this.#finish();
    if (this.#response.destroyed) return;
    const { call, gatekeeper } = this.#context;
    sendJson(this.#response, 403, message, gatekeeper.stepUp(call.route, scopes));
  }

  endInParts(parts: readonly Buffer[]): void {
    if (this.#isDone) return;
    this.#finish();
    if (this.#writer !== undefined) {
      this.#writer.write(...messageEventParts(parts));
      this.#writer.end();
      return;
    }
    if (this.#response.destroyed) return;
    sendJsonParts(this.#response, parts);
    cutIfSlow(this.#response, this.#context);
  }

  abandon(): void {
    this.#finish();
    if (this.#writer !== undefined) this.#writer.end();
    else this.#response.destroy();
  }

  beginStream(): void {
    if (this.#writer !== undefined || this.#isDone || this.#response.destroyed) return;
    const { streamTimers } = this.#context;
    streamTimers.forget(this);
    this.#writer = new SseWriter(
      this.#response,
      {},
      {
        held: this.#context.held,
        principal: this.#context.principal,
        closed: (closed) => streamTimers.closed(closed),
        slow: () => this.#context.slow(),
      },
    );
    streamTimers.opened(this.#writer, TRANSPORT, this.#context.call.principal);
    this.#writer.write(comment('ok'));
  }

  #finish(): void {
    this.#isDone = true;
    this.#context.streamTimers.forget(this);
  }

  #closed(): void {
    if (this.#isDone) return;
    this.#finish();
    this.#context.gone();
  }
}

// Other errors speak for the request, not for the listener
// (docs/protocol.md#status-of-a-modern-answer).
function statusOf(code: number | undefined): number {
  if (code === METHOD_NOT_FOUND) return 404;
  return code === MISSING_CAPABILITY || code === HEADER_MISMATCH ? 400 : 200;
}
