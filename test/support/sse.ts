/**
 * A small parser of `text/event-stream`, written from the WHATWG text and sharing nothing with the
 * gateway. It keeps what a browser would hide (comments, empty-data events, `retry`), because the tests
 * are about exactly these.
 */
export interface SseEvent {
  /** The `event:` field; undefined when the frame has none (the default type is then `message`). */
  readonly event: string | undefined;
  /** The `data:` lines joined by a newline; undefined when the frame has no data line at all. */
  readonly data: string | undefined;
  /** The `id:` field of this very frame. */
  readonly id: string | undefined;
  /** The `retry:` field in milliseconds. */
  readonly retry: number | undefined;
}

interface Frame {
  event?: string;
  data?: string[];
  id?: string;
  retry?: number;
}

const LINE_END = /\r\n|\n|\r(?!$)/;

export class SseParser {
  /** Comment lines seen, without the colon. */
  readonly comments: string[] = [];
  readonly #onEvent: (event: SseEvent) => void;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  /** What has come of the line that is not complete. */
  readonly #pieces: string[] = [];
  #endsInReturn = false;
  #frame: Frame = {};

  constructor(onEvent: (event: SseEvent) => void) {
    this.#onEvent = onEvent;
  }

  /** Feeds bytes in whatever pieces they come. @throws TypeError on bytes that are not UTF-8. */
  push(chunk: Uint8Array): void {
    const text = this.#decoder.decode(chunk, { stream: true });
    // Only looks for a line end where one can be: a line of 12 MB comes in hundreds of pieces.
    if (!/[\r\n]/.test(text) && !this.#endsInReturn) {
      this.#pieces.push(text);
      return;
    }
    let rest = this.#pieces.splice(0).join('') + text;
    // A lone CR at the very end may be half of a CRLF: it stays until the next piece shows.
    for (let match = LINE_END.exec(rest); match; match = LINE_END.exec(rest)) {
      const line = rest.slice(0, match.index);
      rest = rest.slice(match.index + match[0].length);
      this.#line(line);
    }
    this.#endsInReturn = rest.endsWith('\r');
    this.#pieces.push(rest);
  }

  #line(line: string): void {
    if (line === '') {
      this.#dispatch();
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) {
      this.comments.push(line.slice(1));
      return;
    }
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') this.#frame.data = [...(this.#frame.data ?? []), value];
    else if (field === 'event') this.#frame.event = value;
    else if (field === 'id') this.#frame.id = value;
    else if (field === 'retry' && /^\d+$/.test(value)) this.#frame.retry = Number(value);
  }

  #dispatch(): void {
    const frame = this.#frame;
    this.#frame = {};
    if (Object.keys(frame).length === 0) return;
    this.#onEvent({
      event: frame.event,
      data: frame.data?.join('\n'),
      id: frame.id,
      retry: frame.retry,
    });
  }
}
