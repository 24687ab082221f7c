/**
 * A legacy session over Streamable HTTP, driven by hand: `initialize` with any version and capabilities,
 * then requests, notifications, answers and GET streams. Everything it opens is closed by `close`.
 */
import { type FullResponse, HttpExchange, POST_HEADERS, post, send } from './http-client.ts';
import type { Json, MessageId, WireMessage } from './wire-message.ts';

/** The four legacy protocol versions, oldest first. */
export const LEGACY_VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const;

export interface SessionOptions {
  /** Requested in `initialize`. Default 2025-11-25. */
  readonly version?: string;
  /** Default none. */
  readonly capabilities?: Json;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** false leaves out `notifications/initialized`. */
  readonly initialized?: boolean;
}

export interface RequestOptions {
  /** Default: the next number of this session. */
  readonly id?: Exclude<MessageId, null>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface CallOptions extends RequestOptions {
  readonly meta?: Json;
}

/** The `initialize` request as these clients send it. */
export function initializeRequest(options: SessionOptions = {}, id: MessageId = 0): Json {
  return {
    jsonrpc: '2.0',
    id,
    method: 'initialize',
    params: {
      protocolVersion: options.version ?? '2025-11-25',
      capabilities: options.capabilities ?? {},
      clientInfo: { name: 'test-client', version: '1.0.0' },
    },
  };
}

/** A request in flight: the exchange, and the id that its answer will carry. */
export interface Pending {
  readonly id: MessageId;
  readonly exchange: HttpExchange;
  /** The answer, when it comes. */
  readonly answer: Promise<WireMessage>;
}

export class LegacySession {
  readonly url: string;
  readonly sessionId: string;
  /** The answer to `initialize`. */
  readonly initializeAnswer: WireMessage;
  /** The version that was agreed on. */
  readonly version: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #open = new Set<HttpExchange>();
  #nextId = 1;

  private constructor(
    url: string,
    sessionId: string,
    answer: WireMessage,
    headers: Readonly<Record<string, string>>,
  ) {
    this.url = url;
    this.sessionId = sessionId;
    this.initializeAnswer = answer;
    this.version = String(answer.result?.['protocolVersion']);
    this.#headers = headers;
  }

  /** Opens a session on the endpoint `url`. @throws Error when `initialize` is not answered with one. */
  static async open(url: string, options: SessionOptions = {}): Promise<LegacySession> {
    const exchange = post(url, initializeRequest(options), options.headers);
    const answer = await exchange.answer(0);
    const sessionId = (await exchange.head).headers['mcp-session-id'];
    if (typeof sessionId !== 'string' || !answer.result) {
      throw new Error(`no session: ${answer.raw}`);
    }
    const session = new LegacySession(url, sessionId, answer, { ...options.headers });
    if (options.initialized !== false) await session.notify('notifications/initialized');
    return session;
  }

  /** The same session at another address, as its client goes on after a restart of the gateway. */
  at(url: string, headers = this.#headers, sessionId = this.sessionId): LegacySession {
    const session = new LegacySession(url, sessionId, this.initializeAnswer, headers);
    session.#nextId = this.#nextId;
    return session;
  }

  /** What this session's client puts on every later request. */
  get headers(): Readonly<Record<string, string>> {
    return {
      ...this.#headers,
      'mcp-session-id': this.sessionId,
      // The header exists since 2025-06-18; older clients do not send it.
      ...(this.version >= '2025-06-18' ? { 'mcp-protocol-version': this.version } : {}),
    };
  }

  /** POSTs anything in this session. */
  post(body: unknown, headers: Readonly<Record<string, string>> = {}): HttpExchange {
    return this.#track(post(this.url, body, { ...this.headers, ...headers }));
  }

  /** Sends a request and returns at once. */
  begin(method: string, params?: Json, options: RequestOptions = {}): Pending {
    const id = options.id ?? this.#nextId++;
    const exchange = this.post({ jsonrpc: '2.0', id, method, params }, options.headers);
    const answer = exchange.answer(id, 30_000);
    // A test that drops the exchange never looks at its answer.
    answer.catch(() => undefined);
    return { id, exchange, answer };
  }

  /** Sends a request and waits for its answer. */
  request(method: string, params?: Json, options: RequestOptions = {}): Promise<WireMessage> {
    return this.begin(method, params, options).answer;
  }

  /** Starts a tool call and returns at once. */
  beginCall(name: string, args: Json = {}, options: CallOptions = {}): Pending {
    const meta = options.meta === undefined ? {} : { _meta: options.meta };
    return this.begin('tools/call', { name, arguments: args, ...meta }, options);
  }

  /** Calls a tool and waits for the answer. */
  call(name: string, args: Json = {}, options: CallOptions = {}): Promise<WireMessage> {
    return this.beginCall(name, args, options).answer;
  }

  /** Sends a notification. @returns the HTTP answer, to be 202 with no body. */
  notify(method: string, params?: Json): Promise<FullResponse> {
    return this.post({ jsonrpc: '2.0', method, params }).response();
  }

  /** Cancels a request of this session. */
  cancel(requestId: MessageId, reason = 'test'): Promise<FullResponse> {
    return this.notify('notifications/cancelled', { requestId, reason });
  }

  /** Answers a request of the server with a result. */
  respond(id: MessageId | undefined, result: Json): Promise<FullResponse> {
    return this.post({ jsonrpc: '2.0', id, result }).response();
  }

  /** Answers a request of the server with an error. */
  respondError(id: MessageId | undefined, error: Json): Promise<FullResponse> {
    return this.post({ jsonrpc: '2.0', id, error }).response();
  }

  /** Opens a GET stream, optionally to resume after `lastEventId`. Does not wait for it. */
  openStream(lastEventId?: string): HttpExchange {
    const resume = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    const headers = { ...this.headers, accept: 'text/event-stream', ...resume };
    return this.#track(new HttpExchange(this.url, { headers }));
  }

  /** Sends DELETE for this session. */
  delete(): Promise<FullResponse> {
    return send(this.url, { method: 'DELETE', headers: { ...POST_HEADERS, ...this.headers } });
  }

  /** Ends the session and drops whatever is open. A session that is gone already is no fault. */
  async close(): Promise<void> {
    await this.delete();
    for (const exchange of this.#open) exchange.destroy();
    await Promise.all([...this.#open].map((exchange) => exchange.events.ended));
  }

  #track(exchange: HttpExchange): HttpExchange {
    this.#open.add(exchange);
    void exchange.events.ended.then(() => this.#open.delete(exchange));
    return exchange;
  }
}
