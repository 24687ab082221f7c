// The answer to a POST of a session. Its event stream has ids, so that a client can resume it.
import { onOneLine } from '../../jsonrpc/splice.ts';
import type { EventStream } from '../../session/event-stream.ts';
import type { Session } from '../../session/session.ts';
import type { SessionStreams } from '../../session/session-streams.ts';
import type { ListenerContext } from '../context.ts';
import { sendEmpty } from '../error-response.ts';
import type { AcceptHeader } from '../request-headers.ts';
import { PostResponse } from './post-response.ts';
import type { HttpCall } from './routes.ts';

/** One POST's response. */
export class HttpResponseWriter extends PostResponse<EventStream> {
  readonly #sessionId: string;
  readonly #streams: SessionStreams;
  readonly #accepted: AcceptHeader;
  readonly #id: Buffer | undefined;

  /** @param id JSON of the request's id; absent for a batch */
  constructor(
    context: ListenerContext,
    call: HttpCall & { readonly accepted: AcceptHeader },
    { session, streams }: { readonly session: Session; readonly streams: SessionStreams },
    id?: Buffer,
  ) {
    super(context, call);
    this.#sessionId = session.id;
    this.#streams = streams;
    this.#accepted = call.accepted;
    this.#id = id;
    if (call.accepted.events) context.streamTimers.expect(this);
  }

  protected get takesJson(): boolean {
    return this.#accepted.json;
  }

  override push(...message: readonly Buffer[]): boolean {
    return this.#accepted.events && super.push(...message);
  }

  /** Ends with several answers: one JSON array, or one event for each. */
  endAll(messages: readonly Buffer[]): void {
    if (this.isDone) return;
    if (this.stream === undefined && this.takesJson) {
      this.end(jsonArray(messages));
      return;
    }
    this.beginStream();
    this.finish();
    for (const message of messages) this.stream?.write(message);
    this.stream?.finish();
  }

  /** Closes the response, which would otherwise stay open for ever (docs/protocol.md#cancellation). */
  abandon(): void {
    if (this.isDone) return;
    this.finish();
    if (this.stream !== undefined) {
      this.stream.finish();
      this.stream.clear();
    } else if (this.response.destroyed) {
      return;
    } else if (this.#accepted.events) {
      this.response.writeHead(200, { 'content-type': 'text/event-stream' });
      this.response.end();
    } else {
      sendEmpty(this.response, 202);
    }
  }

  protected open(): EventStream {
    const writer = this.openWriter({ 'mcp-session-id': this.#sessionId }, (closed) =>
      this.#streams.closed(closed),
    );
    return this.#streams.openForCall(writer, this.#id);
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
