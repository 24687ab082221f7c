/**
 * A server made with the official SDK 1.x over Streamable HTTP, with one transport for all, as its
 * examples have it: a second start knows nothing of the first one's session.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

export class SdkV1Server {
  /** How often the tool `count` was called, over all starts. */
  calls = 0;
  /** Handshakes, over all starts. */
  sessions = 0;
  #http: Server | undefined;

  /** @param port 0 lets the system choose */
  async start(port = 0): Promise<void> {
    const server = new McpServer({ name: 'sdk-v1', version: '1' });
    server.registerTool('count', { description: 'Counts its calls.' }, () => ({
      content: [{ type: 'text', text: String(++this.calls) }],
    }));
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => `session-${++this.sessions}`,
    });
    await server.connect(transport as Parameters<typeof server.connect>[0]);
    const http = createServer((request, response) => {
      void transport.handleRequest(request, response);
    });
    this.#http = http;
    await new Promise<void>((resolve) => {
      http.listen(port, '127.0.0.1', resolve);
    });
  }

  get port(): number {
    const address = this.#http?.address() as AddressInfo | undefined;
    return address?.port ?? 0;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/mcp`;
  }

  /** Ends it as a kill does: without a word to anybody. */
  async kill(): Promise<void> {
    const closed = new Promise((resolve) => {
      this.#http?.close(resolve);
    });
    this.#http?.closeAllConnections();
    await closed;
  }

  /** Another life at the same address, which knows of nothing. */
  async restart(): Promise<void> {
    const { port } = this;
    await this.kill();
    await this.start(port);
  }
}
