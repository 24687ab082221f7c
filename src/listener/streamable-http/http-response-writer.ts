// The answer to one POST, in the cheapest form that is right: JSON when the answer is the first
// thing to send, an event stream as soon as something comes before it.
import type { ServerResponse } from 'node:http';
import { monotonicMs } from '../../base/clock.ts';
import { onOneLine } from '../../jsonrpc/splice.ts';
import type { ResponseWriter } from '../../ports/response-writer.ts';
import type { EventStream } from '../../session/event-stream.ts';
import type { SessionStreams } from '../../session/session-streams.ts';
import { sendEmpty, sendJson, sendJsonParts } from '../error-response.ts';
import type { Gatekeeper } from '../gatekeeper.ts';
import type { AcceptHeader } from '../request-headers.ts';
import { cutIfSlow, type Reader } from '../slow-client.ts';
import { SseWriter } from '../sse-writer.ts';
import type { PendingResponse, StreamTimers } from '../stream-timers.ts';
import type { HttpCall } from './routes.ts';

export interface ResponseContext extends Reader {
  readonly call: HttpCall;
  readonly gatekeeper: Gatekeeper;
  readonly sessionId: string;
  readonly streams: SessionStreams;
  readonly accepted: AcceptHeader;
  readonly streamTimers: StreamTimers;
}

/** One POST's response. */
export class HttpResponseWriter implements ResponseWriter, PendingResponse {
  readonly sinceMs = monotonicMs();
  readonly #response: ServerResponse;
  readonly #context: ResponseContext;
  #stream: EventStream | undefined;
  #isDone = false;

  constructor(response: ServerResponse, context: ResponseContext) {
    this.#response = response;
    this.#context = context;
    if (context.accepted.events) context.streamTimers.expect(this);
  }

  push(message: Buffer): boolean {
    if (this.#isDone || !this.#context.accepted.events) return false;
    this.beginStream();
    // The client left before there was a stream that it could come back to.
    if (this.#stream === undefined) return false;
    this.#stream.write(message);
    return true;
  }

  end(message: Buffer): void {
    if (this.#isDone) return;
    if (this.#stream === undefined && !this.#context.accepted.json) this.beginStream();
    this.#finish();
    if (this.#stream !== undefined) {
      this.#stream.write(message);
      this.#stream.finish();
    } else if (!this.#response.destroyed) {
      sendJson(this.#response, 200, message);
      cutIfSlow(this.#response, this.#context);
    }
  }

  /** With a status of its own, unless a stream has begun. */
  forbid(message: Buffer, scopes: readonly string[]): void {
    if (this.#isDone || this.#stream !== undefined) {
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
    if (this.#stream === undefined && !this.#context.accepted.json) this.beginStream();
    this.#finish();
    if (this.#stream !== undefined) {
      this.#stream.writeParts(parts);
      this.#stream.finish();
      return;
    }
    if (this.#response.destroyed) return;
    sendJsonParts(this.#response, parts);
    cutIfSlow(this.#response, this.#context);
  }

  /** Ends with several answers: one array as JSON, or an event each. */
  endAll(messages: readonly Buffer[]): void {
    if (this.#isDone) return;
    if (this.#stream === undefined && this.#context.accepted.json) {
      this.end(jsonArray(messages));
      return;
    }
    this.beginStream();
    this.#finish();
    for (const message of messages) this.#stream?.write(message);
    this.#stream?.finish();
  }

  /** Releases the response, which would stay open for ever otherwise (docs/protocol.md#cancellation). */
  abandon(): void {
    if (this.#isDone) return;
    this.#finish();
    if (this.#stream !== undefined) {
      this.#stream.finish();
      this.#stream.clear();
    } else if (this.#response.destroyed) {
      return;
    } else if (this.#context.accepted.events) {
      this.#response.writeHead(200, { 'content-type': 'text/event-stream' });
      this.#response.end();
    } else {
      sendEmpty(this.#response, 202);
    }
  }

  beginStream(): void {
    if (this.#stream !== undefined || this.#isDone || this.#response.destroyed) return;
    const { streamTimers, streams, sessionId } = this.#context;
    streamTimers.forget(this);
    const writer = new SseWriter(
      this.#response,
      { 'mcp-session-id': sessionId },
      {
        closed: (closed) => {
          streamTimers.closed(closed);
          streams.closed(closed);
        },
        held: this.#context.held,
        principal: this.#context.principal,
        slow: () => this.#context.slow(),
      },
    );
    streamTimers.opened(writer, 'streamable-http', this.#context.call.principal);
    this.#stream = streams.openForCall(writer);
  }

  #finish(): void {
    this.#isDone = true;
    this.#context.streamTimers.forget(this);
  }
}

const OPEN = Buffer.from('[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']');

/** Messages as one JSON array. */
export function jsonArray(messages: readonly Buffer[]): Buffer {
  const parts: Buffer[] = [OPEN];
  messages.forEach((message, at) => {
    if (at > 0) parts.push(COMMA);
    parts.push(onOneLine(message));
  });
  parts.push(CLOSE);
  return Buffer.concat(parts);
}
