/**
 * A raw HTTP client on node:http: every header under the test's control, the answer as bytes, as SSE
 * events and as messages at once, and a connection that can be dropped at any moment. No `fetch`, which
 * hides too much.
 */
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { AsyncQueue } from './async-queue.ts';
import { type SseEvent, SseParser } from './sse.ts';
import { within } from './until.ts';
import { answers, type MessageId, parseMessages, type WireMessage } from './wire-message.ts';

export interface SendOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Uint8Array;
  /** The request target as it goes on the wire, when it must differ from the URL's. */
  readonly target?: string;
}

export interface Head {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

export interface FullResponse extends Head {
  readonly body: Buffer;
  readonly text: string;
  /** The body parsed. @throws SyntaxError when it is not JSON. */
  json(): unknown;
}

/** One request and whatever has come back so far. Each uses its own connection. */
export class HttpExchange {
  /** SSE events, in order; ended when the answer ends. */
  readonly events = new AsyncQueue<SseEvent>('SSE stream');
  /** JSON-RPC messages of the answer: of its SSE events, or of its JSON body. */
  readonly messages = new AsyncQueue<WireMessage>('HTTP answer');
  /** Status and headers. */
  readonly head: Promise<Head>;
  readonly #chunks: Buffer[] = [];
  readonly #parser = new SseParser((event) => this.#onEvent(event));
  readonly #destroy: () => void;

  constructor(url: string, options: SendOptions = {}) {
    const target = new URL(url);
    const body = options.body === undefined ? undefined : Buffer.from(options.body);
    const isSized = body !== undefined && options.headers?.['transfer-encoding'] === undefined;
    const request = httpRequest({
      host: target.hostname,
      port: target.port,
      path: options.target ?? `${target.pathname}${target.search}`,
      method: options.method ?? 'GET',
      headers: {
        ...(isSized ? { 'content-length': String(body.length) } : {}),
        ...options.headers,
      },
      agent: false,
    });
    this.#destroy = () => request.destroy();
    this.head = new Promise((resolve, reject) => {
      request.on('response', (response) => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers });
        this.#read(response);
      });
      request.on('error', (error) => {
        reject(error);
        this.#end(error);
      });
      request.on('close', () => {
        reject(new Error('closed without an answer'));
        this.#end();
      });
    });
    // Tests that only watch the messages never look at `head`; its failure shows there too.
    this.head.catch(() => undefined);
    request.end(body);
  }

  /** All bytes of the body that have come so far. */
  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  /** SSE comments that have come so far. */
  get comments(): readonly string[] {
    return this.#parser.comments;
  }

  /** Status, headers and body, once the answer has ended. */
  async response(timeoutMs = 30_000): Promise<FullResponse> {
    const head = await within(this.head, timeoutMs, 'HTTP head');
    await within(this.events.ended, timeoutMs, 'end of the HTTP answer');
    const body = this.bytes;
    const text = body.toString('utf8');
    return { ...head, body, text, json: () => JSON.parse(text) as unknown };
  }

  /** The message that answers request `id`, wherever it stands in the answer. */
  answer(id: MessageId, timeoutMs = 30_000): Promise<WireMessage> {
    return this.messages.next(answers(id), timeoutMs);
  }

  /** Drops the connection. */
  destroy(): void {
    this.#destroy();
  }

  #read(response: IncomingMessage): void {
    const isEvents = (response.headers['content-type'] ?? '').startsWith('text/event-stream');
    response.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      if (isEvents) this.#parser.push(chunk);
    });
    response.on('error', (error) => this.#end(error));
    response.on('end', () => {
      if (!isEvents) this.#readJson();
      this.#end();
    });
  }

  #readJson(): void {
    try {
      for (const message of parseMessages(this.bytes.toString('utf8'))) this.messages.push(message);
    } catch {
      // Not JSON: the test reads `response()` instead.
    }
  }

  #onEvent(event: SseEvent): void {
    this.events.push(event);
    // Empty data is a priming event; other event types (`endpoint`) carry no message.
    if (!event.data || (event.event !== undefined && event.event !== 'message')) return;
    for (const message of parseMessages(event.data)) this.messages.push(message);
  }

  #end(error?: Error): void {
    this.events.end(error);
    this.messages.end(error);
  }
}

/** Sends one request and waits for the whole answer. */
export function send(url: string, options: SendOptions = {}): Promise<FullResponse> {
  return new HttpExchange(url, options).response();
}

/** The headers that a well-behaved Streamable HTTP client sends with a POST. */
export const POST_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

/** POSTs `body` (objects are serialised) with the usual headers; `headers` add to or replace them. */
export function post(
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string | string[]>> = {},
): HttpExchange {
  return new HttpExchange(url, {
    method: 'POST',
    headers: { ...POST_HEADERS, ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
  });
}
