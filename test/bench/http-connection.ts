// One keep-alive HTTP/1.1 connection on a plain socket, one request at a time. node:http would cost more
// than some of what is measured. Of a body it keeps only the size and both ends: that is enough to check
// an answer of any size.
import { connect, type Socket } from 'node:net';

/** What is known of a response. */
export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly sessionId: string | undefined;
  readonly bodyBytes: number;
  /** The first bytes of the body, at most EDGE_BYTES. */
  readonly head: string;
  /** The last bytes of the body, at most EDGE_BYTES. */
  readonly tail: string;
}

/** How much of each end of a body is kept. */
export const EDGE_BYTES = 512;

type State = 'head' | 'length' | 'chunk-size' | 'chunk-data' | 'chunk-end' | 'trailer';

interface Pending {
  readonly until: 'headers' | 'end';
  readonly resolve: (answer: HttpAnswer) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

const CRLF = '\r\n';

/** The byte ends of a body that goes by. */
class BodyEdges {
  bytes = 0;
  #head: Buffer = Buffer.alloc(0);
  #tail: Buffer = Buffer.alloc(0);

  add(slice: Buffer): void {
    if (this.#head.length < EDGE_BYTES) {
      const missing = slice.subarray(0, EDGE_BYTES - this.#head.length);
      this.#head = this.#head.length === 0 ? missing : Buffer.concat([this.#head, missing]);
    }
    this.#tail =
      this.bytes === 0 || slice.length >= EDGE_BYTES
        ? slice.subarray(-EDGE_BYTES)
        : Buffer.concat([this.#tail, slice]).subarray(-EDGE_BYTES);
    this.bytes += slice.length;
  }

  ends(): { head: string; tail: string } {
    return { head: this.#head.toString('latin1'), tail: this.#tail.toString('latin1') };
  }
}

/** A connection to one server; reconnects when the server has closed it between two requests. */
export class HttpConnection {
  readonly #port: number;
  readonly #timeoutMs: number;
  #socket: Socket | undefined;
  #pending: Pending | undefined;
  #state: State = 'head';
  #line = '';
  #remaining = 0;
  #status = 0;
  #contentType = '';
  #sessionId: string | undefined;
  #closesAfter = false;
  #body = new BodyEdges();

  /**
   * @param port on 127.0.0.1
   * @param timeoutMs for one request until its answer is complete
   */
  constructor(port: number, timeoutMs: number) {
    this.#port = port;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Sends one request; the one before it must have been answered.
   * @param bytes the whole request, head and body
   * @param until `headers` for a stream that does not end
   * @returns rejects when the connection breaks or the time is over
   */
  send(bytes: string, until: 'headers' | 'end' = 'end'): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => this.#fail(new Error(`no answer in ${this.#timeoutMs} ms`)),
        this.#timeoutMs,
      );
      this.#pending = { until, resolve, reject, timer };
      this.#reset();
      this.#openSocket().write(bytes);
    });
  }

  /**
   * Closes the socket; a request that still waits is rejected. The next `send` connects anew, so this
   * also serves to begin afresh before the server's keep-alive limit, which would race with a request.
   */
  close(): void {
    this.#fail(new Error('closed'));
  }

  #reset(): void {
    this.#state = 'head';
    this.#line = '';
    this.#body = new BodyEdges();
  }

  #openSocket(): Socket {
    if (this.#socket !== undefined) return this.#socket;
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
    socket.on('data', (chunk) => this.#receive(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => {
      if (this.#socket === socket) this.#fail(new Error('the server closed the connection'));
    });
    this.#socket = socket;
    return socket;
  }

  #fail(error: Error): void {
    const pending = this.#pending;
    this.#pending = undefined;
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.destroy();
    if (pending === undefined) return;
    clearTimeout(pending.timer);
    pending.reject(error);
  }

  #finish(): void {
    const pending = this.#pending;
    if (pending === undefined) return;
    this.#pending = undefined;
    clearTimeout(pending.timer);
    if (this.#closesAfter) {
      this.#socket?.destroy();
      this.#socket = undefined;
    }
    pending.resolve({
      status: this.#status,
      contentType: this.#contentType,
      sessionId: this.#sessionId,
      bodyBytes: this.#body.bytes,
      ...this.#body.ends(),
    });
  }

  #receive(chunk: Buffer): void {
    let offset = 0;
    while (offset < chunk.length && this.#pending !== undefined) {
      offset = this.#isInBody() ? this.#takeBody(chunk, offset) : this.#takeLines(chunk, offset);
    }
  }

  #isInBody(): boolean {
    return this.#state === 'length' || this.#state === 'chunk-data';
  }

  #takeBody(chunk: Buffer, offset: number): number {
    const slice = chunk.subarray(offset, offset + this.#remaining);
    this.#body.add(slice);
    this.#remaining -= slice.length;
    if (this.#remaining === 0) {
      if (this.#state === 'length') this.#finish();
      else this.#state = 'chunk-end';
    }
    return offset + slice.length;
  }

  /** Collects text up to the end that the state asks for, then acts on it. */
  #takeLines(chunk: Buffer, offset: number): number {
    const end = this.#state === 'head' ? CRLF + CRLF : CRLF;
    const before = this.#line.length;
    // The end may have begun in the chunk before.
    const overlap = Math.min(before, end.length - 1);
    const reach = this.#state === 'head' ? 16_384 : 64;
    const read = chunk.toString('latin1', offset, offset + reach);
    const text = this.#line.slice(before - overlap) + read;
    const at = text.indexOf(end);
    if (at === -1) {
      this.#line += read;
      return offset + read.length;
    }
    const line = this.#line.slice(0, before - overlap) + text.slice(0, at);
    this.#line = '';
    this.#takeLine(line);
    return offset + at + end.length - overlap;
  }

  #takeLine(line: string): void {
    switch (this.#state) {
      case 'head':
        this.#takeHead(line);
        break;
      case 'chunk-size':
        this.#remaining = Number.parseInt(line, 16);
        this.#state = this.#remaining === 0 ? 'trailer' : 'chunk-data';
        break;
      case 'chunk-end':
        this.#state = 'chunk-size';
        break;
      default:
        if (line === '') this.#finish();
    }
  }

  #takeHead(head: string): void {
    this.#status = Number(head.slice(9, 12));
    this.#contentType = /^content-type: *(.+)$/im.exec(head)?.[1] ?? '';
    this.#sessionId = /^mcp-session-id: *(\S+)/im.exec(head)?.[1];
    this.#closesAfter = /^connection: *close/im.test(head);
    const length = /^content-length: *(\d+)/im.exec(head)?.[1];
    this.#remaining = Number(length ?? 0);
    if (/^transfer-encoding: *chunked/im.test(head)) this.#state = 'chunk-size';
    else this.#state = 'length';
    if (this.#pending?.until === 'headers') this.#finish();
    else if (this.#state === 'length' && this.#remaining === 0) this.#finish();
  }
}
