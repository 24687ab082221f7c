// The answer to a modern POST: JSON with a status for the kind of error, or an event stream without ids,
// which can't be resumed (2026-07-28 basic/transports/streamable-http).

import { METHOD_NOT_FOUND } from '../../jsonrpc/error.ts';
import { comment, messageEvent } from '../../jsonrpc/sse-framing.ts';
import { HEADER_MISMATCH, MISSING_CAPABILITY } from '../../mcp/errors.ts';
import type { ListenerContext } from '../context.ts';
import type { SseWriter } from '../sse-writer.ts';
import { PostResponse } from './post-response.ts';
import type { HttpCall } from './routes.ts';

/** An event stream without ids. */
class PlainStream {
  readonly #writer: SseWriter;

  constructor(writer: SseWriter) {
    this.#writer = writer;
    writer.write(comment('ok'));
  }

  write(...message: readonly Buffer[]): void {
    this.#writer.write(...messageEvent(...message));
  }

  finish(): void {
    this.#writer.end();
  }
}

/** One modern POST's response. */
export class ModernResponseWriter extends PostResponse<PlainStream> {
  protected readonly takesJson = true;

  /** @param gone called when the client closed the stream before the answer, which cancels the request */
  constructor(context: ListenerContext, call: HttpCall, gone: () => void) {
    super(context, call);
    context.streamTimers.expect(this);
    call.response.once('close', () => {
      if (this.isDone) return;
      this.finish();
      gone();
    });
  }

  abandon(): void {
    this.finish();
    if (this.stream !== undefined) this.stream.finish();
    else this.response.destroy();
  }

  protected open(): PlainStream {
    return new PlainStream(this.openWriter({}));
  }

  // Other errors are about the request, not about HTTP (docs/protocol.md#status-of-a-modern-answer).
  protected override statusOf(code: number | undefined): number {
    if (code === METHOD_NOT_FOUND) return 404;
    return code === MISSING_CAPABILITY || code === HEADER_MISMATCH ? 400 : 200;
  }
}
