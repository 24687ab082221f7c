// A legacy MCP client over Streamable HTTP that costs next to nothing: one session, one connection, one
// call at a time, ids from 1 in every session (so that ids of different clients always collide).
import { type HttpAnswer, HttpConnection } from './http-connection.ts';

/** What a call asks the echo server for, and the least that a right answer weighs. */
export interface CallShape {
  readonly payload: 'small' | 'json' | 'base64';
  readonly bytes: number;
}

const PROTOCOL_VERSION = '2025-06-18';
const CALL_TIMEOUT_MS = 30_000;

/** One session. */
export class McpClient {
  readonly #port: number;
  readonly #path: string;
  readonly #connection: HttpConnection;
  #stream: HttpConnection | undefined;
  #sessionHeaders = '';
  #lastId = 0;

  /** @param connection may be given to let several sessions take turns on one connection */
  constructor(port: number, path: string, connection?: HttpConnection) {
    this.#port = port;
    this.#path = path;
    this.#connection = connection ?? new HttpConnection(port, CALL_TIMEOUT_MS);
  }

  /** Whether the server gave the client a session. */
  get hasSession(): boolean {
    return this.#sessionHeaders.includes('Mcp-Session-Id');
  }

  /**
   * Does the handshake.
   * @throws Error when the server refuses
   */
  async open(): Promise<void> {
    const params = {
      protocolVersion: PROTOCOL_VERSION,
      capabilities: {},
      clientInfo: { name: 'bench', version: '1.0.0' },
    };
    const answer = await this.#request('initialize', params);
    const session = answer.sessionId === undefined ? '' : `Mcp-Session-Id: ${answer.sessionId}\r\n`;
    this.#sessionHeaders = `${session}MCP-Protocol-Version: ${PROTOCOL_VERSION}\r\n`;
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' });
    const accepted = await this.#connection.send(this.#post(body));
    if (accepted.status >= 300) throw new Error(describe('initialized', accepted));
  }

  /**
   * Opens the stream for messages that belong to no call.
   * @throws Error when the server has none
   */
  async openStream(): Promise<void> {
    this.#stream = new HttpConnection(this.#port, CALL_TIMEOUT_MS);
    const request = `GET ${this.#path} HTTP/1.1\r\nHost: 127.0.0.1:${this.#port}\r\nAccept: text/event-stream\r\n${this.#sessionHeaders}\r\n`;
    const answer = await this.#stream.send(request, 'headers');
    if (answer.status !== 200) throw new Error(describe('GET', answer));
  }

  /**
   * Calls `echo` and checks that the answer is the one to this call and is complete.
   * @throws Error when it is not
   */
  async call(shape: CallShape): Promise<void> {
    const answer = await this.#request('tools/call', { name: 'echo', arguments: shape });
    if (answer.bodyBytes < shape.bytes) throw new Error(describe('tools/call', answer));
  }

  /** Takes a new connection for the same session, since the server may be about to close an idle one. */
  reconnect(): void {
    this.#connection.close();
  }

  /** Ends the session, whatever the server says to it, and closes the connections. */
  async close(): Promise<void> {
    this.#stream?.close();
    this.reconnect();
    if (this.hasSession) {
      const request = `DELETE ${this.#path} HTTP/1.1\r\nHost: 127.0.0.1:${this.#port}\r\n${this.#sessionHeaders}\r\n`;
      await this.#connection.send(request).catch(() => undefined);
    }
    this.#connection.close();
  }

  async #request(method: string, params: unknown): Promise<HttpAnswer> {
    this.#lastId += 1;
    const id = this.#lastId;
    const answer = await this.#connection.send(
      this.#post(JSON.stringify({ jsonrpc: '2.0', id, method, params })),
    );
    if (answer.status !== 200 || !answersTo(id, answer)) throw new Error(describe(method, answer));
    return answer;
  }

  #post(body: string): string {
    return `POST ${this.#path} HTTP/1.1\r\nHost: 127.0.0.1:${this.#port}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n${this.#sessionHeaders}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  }
}

/** Whether a body, JSON or SSE, is the result of that request. Servers put the id first or last. */
function answersTo(id: number, { head, tail }: HttpAnswer): boolean {
  const idText = new RegExp(`"id":${id}[,}]`);
  return (idText.test(head) || idText.test(tail)) && !head.includes('"error":{');
}

function describe(what: string, answer: HttpAnswer): string {
  return `${what}: ${answer.status} ${answer.contentType}, ${answer.bodyBytes} bytes: ${answer.head.slice(0, 200)}`;
}
