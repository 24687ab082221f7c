/**
 * A remote MCP server on node:http, in the test's own process: it records every request with all its
 * headers, and a test can take over any of them. Without that it is a well-behaved server of one era.
 */
import {
  createServer,
  type IncomingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from './until.ts';

type Json = Readonly<Record<string, unknown>>;

export interface RemoteRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values as sent, in order. */
  readonly rawHeaders: readonly string[];
  readonly text: string;
  /** The JSON-RPC message of a POST. */
  readonly message: RemoteMessage;
  readonly response: ServerResponse;
}

export interface RemoteMessage {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Json;
  readonly result?: Json;
  readonly error?: Json;
}

/** Takes a request over. @returns whether it did. */
export type Takeover = (request: RemoteRequest) => boolean;

export interface RemoteOptions {
  readonly era?: 'legacy' | 'modern';
  readonly tools?: readonly Json[];
}

const ECHO = { name: 'echo', inputSchema: { type: 'object' } };

export class RemoteServer {
  readonly requests: RemoteRequest[] = [];
  /** Looks at each request first. */
  takeover: Takeover = () => false;
  tools: readonly Json[];
  sessions = 0;
  readonly #era: 'legacy' | 'modern';
  readonly #server: Server;

  private constructor(options: RemoteOptions) {
    this.#era = options.era ?? 'legacy';
    this.tools = options.tools ?? [ECHO];
    this.#server = createServer((incoming, response) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        this.#serve({
          method: incoming.method ?? '',
          path: incoming.url ?? '',
          headers: incoming.headers,
          rawHeaders: incoming.rawHeaders,
          text,
          message: text === '' ? {} : (JSON.parse(text) as RemoteMessage),
          response,
        });
      });
    });
  }

  static async start(options: RemoteOptions = {}): Promise<RemoteServer> {
    const server = new RemoteServer(options);
    await server.listen(0);
    return server;
  }

  /** Opens the port; 0 lets the system choose. */
  async listen(port: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.listen(port, '127.0.0.1', resolve);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get url(): string {
    return `${this.origin}/mcp`;
  }

  /** The POSTs with this method so far. */
  posts(method: string): RemoteRequest[] {
    return this.requests.filter((request) => request.message.method === method);
  }

  /** The `nth` POST with this method, waiting for it. */
  post(method: string, nth = 1): Promise<RemoteRequest> {
    return until(() => this.posts(method)[nth - 1], { what: `POST ${nth} of ${method}` });
  }

  /** Closes the port and every connection. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => {
      this.#server.close(resolve);
    });
    this.#server.closeAllConnections();
    await closed;
  }

  #serve(request: RemoteRequest): void {
    this.requests.push(request);
    if (this.takeover(request)) return;
    const { method, message, response } = request;
    if (method !== 'POST') response.writeHead(method === 'DELETE' ? 200 : 405).end();
    else if (message.id === undefined || message.method === undefined)
      response.writeHead(202).end();
    else this.#answer(message.method, request);
  }

  #answer(method: string, request: RemoteRequest): void {
    const result =
      this.#era === 'modern' ? this.#modern(method, request) : this.#legacy(method, request);
    if (result === undefined) {
      const status = this.#era === 'modern' ? 404 : 400;
      const error = { code: -32601, message: 'Method not found' };
      sendJson(request.response, status, { jsonrpc: '2.0', id: request.message.id, error });
      return;
    }
    const session = method === 'initialize' ? { 'mcp-session-id': `s-${++this.sessions}` } : {};
    sendJson(request.response, 200, { jsonrpc: '2.0', id: request.message.id, result }, session);
  }

  #legacy(method: string, { message }: RemoteRequest): Json | undefined {
    switch (method) {
      case 'initialize':
        return {
          protocolVersion: '2025-11-25',
          capabilities: { tools: { listChanged: true }, resources: {} },
          serverInfo: { name: 'remote', version: '1' },
        };
      default:
        return this.#common(method, message);
    }
  }

  #modern(method: string, { message }: RemoteRequest): Json | undefined {
    if (method !== 'server/discover') {
      const result = this.#common(method, message);
      return result && { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result };
    }
    return {
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {}, resources: {} },
      ttlMs: 0,
      cacheScope: 'private',
    };
  }

  #common(method: string, { params }: RemoteMessage): Json | undefined {
    switch (method) {
      case 'ping':
        return {};
      case 'tools/list':
        return { tools: this.tools };
      case 'tools/call':
        return { content: [{ type: 'text', text: JSON.stringify(params?.['arguments']) }] };
      case 'resources/read':
        return { contents: [{ uri: params?.['uri'], text: 'x' }] };
      default:
        return undefined;
    }
  }
}

/** Answers with JSON. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** Begins an event stream. */
export function sendStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
}

/** One message as an event. */
export function eventOf(message: unknown, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(message)}\n\n`;
}
