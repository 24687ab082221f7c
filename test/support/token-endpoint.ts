/**
 * The token endpoint of an authorization server, in the test's own process: it records what it is asked
 * and issues `token-1`, `token-2`, ..., unless a test takes over.
 */
import {
  createServer,
  type IncomingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

export interface TokenRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly form: Readonly<Record<string, string>>;
  readonly response: ServerResponse;
}

export class TokenEndpoint {
  readonly requests: TokenRequest[] = [];
  /** What tokens are good for, in seconds. */
  lifetime: number | undefined = 300;
  /** Answers itself. @returns whether it did */
  takeover: (request: TokenRequest) => boolean = () => false;
  #issued = 0;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((incoming, response) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        const form = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()));
        this.#serve({ path: incoming.url ?? '', headers: incoming.headers, form, response });
      });
    });
  }

  static async start(): Promise<TokenEndpoint> {
    const endpoint = new TokenEndpoint();
    await new Promise<void>((resolve) => {
      endpoint.#server.listen(0, '127.0.0.1', resolve);
    });
    return endpoint;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/token`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  #serve(request: TokenRequest): void {
    this.requests.push(request);
    if (this.takeover(request)) return;
    answerToken(request.response, 200, {
      access_token: `token-${++this.#issued}`,
      token_type: 'Bearer',
      ...(this.lifetime === undefined ? {} : { expires_in: this.lifetime }),
    });
  }
}

/** Answers with JSON. */
export function answerToken(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
