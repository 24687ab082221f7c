/**
 * A client of the stateless era over Streamable HTTP, driven by hand: each request with its envelope and
 * the headers that repeat it, all of which a test can change. Everything it opens is closed by `close`.
 */
import { type FullResponse, type HttpExchange, post } from './http-client.ts';
import { enveloped } from './modern-envelope.ts';
import type { Json, MessageId, WireMessage } from './wire-message.ts';

export interface ModernOptions {
  readonly id?: Exclude<MessageId, null>;
  /** Default: those of the client. */
  readonly capabilities?: Json;
  /** Further members of `_meta`. */
  readonly meta?: Json;
  /** Added to or replacing the usual ones; undefined leaves one out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/** A request in flight. */
export interface ModernPending {
  readonly id: MessageId;
  readonly exchange: HttpExchange;
  readonly answer: Promise<WireMessage>;
}

/** What a complete answer was. */
export interface ModernAnswer extends FullResponse {
  readonly message: WireMessage;
}

export class ModernClient {
  readonly url: string;
  readonly #capabilities: Json;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #open = new Set<HttpExchange>();
  #nextId = 1;

  /** @param headers sent with every request */
  constructor(
    url: string,
    capabilities: Json = {},
    headers: Readonly<Record<string, string>> = {},
  ) {
    this.url = url;
    this.#capabilities = capabilities;
    this.#headers = headers;
  }

  /** POSTs anything with exactly these headers besides the usual ones of a POST. */
  post(body: unknown, headers: Readonly<Record<string, string | undefined>> = {}): HttpExchange {
    const given = Object.entries({ ...this.#headers, ...headers }).filter(
      ([, value]) => value !== undefined,
    );
    const exchange = post(this.url, body, Object.fromEntries(given) as Record<string, string>);
    this.#open.add(exchange);
    void exchange.events.ended.then(() => this.#open.delete(exchange));
    return exchange;
  }

  /** Sends a request and returns at once. */
  begin(method: string, params: Json = {}, options: ModernOptions = {}): ModernPending {
    const id = options.id ?? this.#nextId++;
    const capabilities = options.capabilities ?? this.#capabilities;
    const body = {
      jsonrpc: '2.0',
      id,
      method,
      params: enveloped(params, { capabilities, meta: options.meta ?? {} }),
    };
    const name = params['name'] ?? params['uri'] ?? params['taskId'];
    const exchange = this.post(body, {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': typeof name === 'string' ? name : undefined,
      ...options.headers,
    });
    const answer = exchange.answer(id);
    // A test that drops the exchange never looks at its answer.
    answer.catch(() => undefined);
    return { id, exchange, answer };
  }

  /** Sends a request and waits for its answer. */
  request(method: string, params?: Json, options?: ModernOptions): Promise<WireMessage> {
    return this.begin(method, params, options).answer;
  }

  /** Sends a request and waits for the end of the HTTP answer. */
  async whole(method: string, params?: Json, options?: ModernOptions): Promise<ModernAnswer> {
    const { exchange, answer } = this.begin(method, params, options);
    const [response, message] = await Promise.all([exchange.response(), answer]);
    return { ...response, message };
  }

  /** Starts a tool call and returns at once. */
  beginCall(name: string, args: Json = {}, options?: ModernOptions): ModernPending {
    return this.begin('tools/call', { name, arguments: args }, options);
  }

  /** Calls a tool and waits for the answer of this round. */
  call(name: string, args: Json = {}, options?: ModernOptions): Promise<WireMessage> {
    return this.beginCall(name, args, options).answer;
  }

  /** Comes back with answers to the server requests of `round`. */
  retry(
    name: string,
    args: Json,
    round: WireMessage,
    inputResponses: Json | undefined,
    options?: ModernOptions,
  ): Promise<WireMessage> {
    const requestState = round.result?.['requestState'];
    const answers = {
      ...(inputResponses === undefined ? {} : { inputResponses }),
      ...(requestState === undefined ? {} : { requestState }),
    };
    return this.request('tools/call', { name, arguments: args, ...answers }, options);
  }

  /** Opens a listen stream and waits for its first message. */
  async listen(notifications: Json, id: MessageId = 'l'): Promise<HttpExchange> {
    const { exchange } = this.begin('subscriptions/listen', { notifications }, { id: id ?? 'l' });
    await exchange.messages.next((message) => message.method?.endsWith('acknowledged') === true);
    return exchange;
  }

  /** Drops whatever is open. */
  async close(): Promise<void> {
    for (const exchange of this.#open) exchange.destroy();
    await Promise.all([...this.#open].map((exchange) => exchange.events.ended));
  }
}

/** The server requests of a round, by key. @throws Error when it asks nothing. */
export function serverRequestsOf(
  round: WireMessage,
): Record<string, { method: string; params?: Json }> {
  const { result } = round;
  if (result?.['resultType'] !== 'input_required') throw new Error(`asks nothing: ${round.raw}`);
  return result['inputRequests'] as Record<string, { method: string; params?: Json }>;
}
