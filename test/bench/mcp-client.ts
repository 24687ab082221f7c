// A legacy MCP client over Streamable HTTP that costs next to nothing: one session, one connection, one
// call at a time, ids from 1 in every session (so that ids of different clients always collide).
import { type HttpAnswer, HttpConnection } from './http-connection.ts';
import { answersTo, describe, type Endpoint, postOf } from './wire-text.ts';
import { type Shape, work } from './work.ts';

const PROTOCOL_VERSION = '2025-06-18';
const CALL_TIMEOUT_MS = 30_000;

/** One session. */
export class McpClient {
  readonly #endpoint: Endpoint;
  readonly #tool: string;
  readonly #connection: HttpConnection;
  #stream: HttpConnection | undefined;
  #sessionHeaders = '';
  #lastId = 0;

  /**
   * @param tool what `echo` is called there
   * @param connection may be given to let several sessions take turns on one connection
   */
  constructor(endpoint: Endpoint, tool: string, connection?: HttpConnection) {
    this.#endpoint = endpoint;
    this.#tool = tool;
    this.#connection = connection ?? new HttpConnection(endpoint.port, CALL_TIMEOUT_MS);
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
    this.#stream = new HttpConnection(this.#endpoint.port, CALL_TIMEOUT_MS);
    const request = `${this.#line('GET')}Accept: text/event-stream\r\n${this.#sessionHeaders}\r\n`;
    const answer = await this.#stream.send(request, 'headers');
    if (answer.status !== 200) throw new Error(describe('GET', answer));
  }

  /**
   * Does one piece of work.
   * @returns the size of the answers in bytes
   * @throws Error when an answer is wrong or too small
   */
  async perform(shape: Shape): Promise<number> {
    return await work((method, params) => this.#request(method, params), this.#tool, shape);
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
      const request = `${this.#line('DELETE')}${this.#sessionHeaders}\r\n`;
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
    return postOf(this.#endpoint, this.#sessionHeaders, body);
  }

  #line(method: string): string {
    const { port, path, credentials = '' } = this.#endpoint;
    return `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${credentials}`;
  }
}
