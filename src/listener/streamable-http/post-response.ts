// The answer to one POST: JSON if the answer is the first thing to send, or an event stream if something
// comes before it.
import type { ServerResponse } from 'node:http';
import { monotonicMs } from '../../base/clock.ts';
import type { HeldBytes } from '../../base/held-bytes.ts';
import type { Principal } from '../../ports/principal.ts';
import type { ResponseWriter } from '../../ports/response-writer.ts';
import type { ListenerContext } from '../context.ts';
import { sendJson, sendJsonParts } from '../error-response.ts';
import { cutIfSlow, type Reader } from '../slow-client.ts';
import { SseWriter } from '../sse-writer.ts';
import type { PendingResponse } from '../stream-timers.ts';
import type { HttpCall } from './routes.ts';

/** An event stream as the answer. */
interface AnswerStream {
  /** @param message in parts, if it is large */
  write(...message: readonly Buffer[]): void;
  finish(): void;
}

/** One POST's response. */
export abstract class PostResponse<Stream extends AnswerStream>
  implements ResponseWriter, PendingResponse, Reader
{
  readonly sinceMs = monotonicMs();
  protected readonly context: ListenerContext;
  protected readonly call: HttpCall;
  protected readonly response: ServerResponse;
  protected stream: Stream | undefined;
  protected isDone = false;

  constructor(context: ListenerContext, call: HttpCall) {
    this.context = context;
    this.call = call;
    this.response = call.response;
  }

  /** Whether the client accepts JSON. */
  protected abstract readonly takesJson: boolean;

  /** Begins the stream. */
  protected abstract open(): Stream;

  abstract abandon(): void;

  get held(): HeldBytes {
    return this.context.held;
  }

  get principal(): Principal {
    return this.call.principal;
  }

  slow(): void {
    this.context.metrics.slowConsumers.inc({ transport: 'streamable-http' });
  }

  push(...message: readonly Buffer[]): boolean {
    if (this.isDone) return false;
    this.beginStream();
    this.stream?.write(...message);
    // Without a stream the client has disconnected.
    return this.stream !== undefined;
  }

  end(message: Buffer, code?: number): void {
    if (this.isDone) return;
    if (!this.takesJson) this.beginStream();
    this.finish();
    if (this.stream !== undefined) {
      this.stream.write(message);
      this.stream.finish();
    } else if (!this.response.destroyed) {
      sendJson(this.response, this.statusOf(code), message);
      cutIfSlow(this.response, this);
    }
  }

  /** With status 403, unless a stream has begun. */
  forbid(message: Buffer, scopes: readonly string[]): void {
    if (this.isDone || this.stream !== undefined) {
      this.end(message);
      return;
    }
    this.finish();
    if (this.response.destroyed) return;
    const headers = this.context.gatekeeper.stepUp(this.call.route, scopes);
    sendJson(this.response, 403, message, headers);
  }

  endInParts(parts: readonly Buffer[], code?: number): void {
    if (this.isDone) return;
    if (!this.takesJson) this.beginStream();
    this.finish();
    if (this.stream !== undefined) {
      this.stream.write(...parts);
      this.stream.finish();
    } else if (!this.response.destroyed) {
      sendJsonParts(this.response, this.statusOf(code), parts);
      cutIfSlow(this.response, this);
    }
  }

  beginStream(): void {
    if (this.stream !== undefined || this.isDone || this.response.destroyed) return;
    this.context.streamTimers.forget(this);
    this.stream = this.open();
  }

  /** The status of a JSON answer. */
  protected statusOf(_code: number | undefined): number {
    return 200;
  }

  /** Nothing follows what is sent now. */
  protected finish(): void {
    this.isDone = true;
    this.context.streamTimers.forget(this);
  }

  /**
   * Sends the head of an event stream.
   * @param headers in addition to those of every event stream
   * @param closed called when the stream is over
   */
  protected openWriter(
    headers: Record<string, string>,
    closed: (writer: SseWriter) => void = () => undefined,
  ): SseWriter {
    const { held, principal } = this;
    const { streamTimers } = this.context;
    const writer = new SseWriter(this.response, headers, {
      held,
      principal,
      closed: (over) => {
        streamTimers.closed(over);
        closed(over);
      },
      slow: () => this.slow(),
    });
    streamTimers.opened(writer, 'streamable-http', principal);
    return writer;
  }
}
