// A client of the stateless era over Streamable HTTP that costs next to nothing: no handshake, one
// connection, one call at a time, and with each request its envelope and the headers that repeat it.
import { type HttpAnswer, HttpConnection } from './http-connection.ts';
import { answersTo, describe, type Endpoint, postOf } from './wire-text.ts';
import { type Shape, work } from './work.ts';

const PROTOCOL_VERSION = '2026-07-28';
const CALL_TIMEOUT_MS = 30_000;
const PREFIX = 'io.modelcontextprotocol/';
const ENVELOPE = {
  [`${PREFIX}protocolVersion`]: PROTOCOL_VERSION,
  [`${PREFIX}clientInfo`]: { name: 'bench', version: '1.0.0' },
  [`${PREFIX}clientCapabilities`]: {},
};

/** One client. */
export class ModernMcpClient {
  readonly #endpoint: Endpoint;
  readonly #tool: string;
  readonly #connection: HttpConnection;
  #lastId = 0;

  /**
   * @param tool what `echo` is called there
   * @param connection may be given to let several clients take turns on one connection
   */
  constructor(endpoint: Endpoint, tool: string, connection?: HttpConnection) {
    this.#endpoint = endpoint;
    this.#tool = tool;
    this.#connection = connection ?? new HttpConnection(endpoint.port, CALL_TIMEOUT_MS);
  }

  /**
   * Finds out whether the server is of this era.
   * @throws Error when it is not
   */
  async open(): Promise<void> {
    await this.#request('server/discover', {});
  }

  /** @throws Error always: no stream is for messages that belong to no request */
  async openStream(): Promise<void> {
    throw new Error('clients of this era have no such stream');
  }

  /**
   * Does one piece of work.
   * @returns the size of the answers in bytes
   * @throws Error when an answer is wrong or too small
   */
  async perform(shape: Shape): Promise<number> {
    return await work((method, params) => this.#request(method, params), this.#tool, shape);
  }

  /** Takes a new connection, since the server may be about to close an idle one. */
  reconnect(): void {
    this.#connection.close();
  }

  /** Closes the connection. */
  async close(): Promise<void> {
    this.#connection.close();
  }

  async #request(method: string, params: object): Promise<HttpAnswer> {
    this.#lastId += 1;
    const id = this.#lastId;
    const request = { jsonrpc: '2.0', id, method, params: { ...params, _meta: ENVELOPE } };
    const name = 'name' in params ? `Mcp-Name: ${String(params.name)}\r\n` : '';
    const headers = `MCP-Protocol-Version: ${PROTOCOL_VERSION}\r\nMcp-Method: ${method}\r\n${name}`;
    const answer = await this.#connection.send(
      postOf(this.#endpoint, headers, JSON.stringify(request)),
    );
    if (answer.status !== 200 || !answersTo(id, answer)) throw new Error(describe(method, answer));
    return answer;
  }
}
