/**
 * An HTTP proxy in the test's own process: it tunnels (CONNECT) and forwards, records what it is asked
 * for, and knows hosts that nobody else can find.
 */
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

export interface ProxyRequest {
  readonly method: string;
  /** As it was sent: `host:port` of a tunnel, a whole URL otherwise. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
}

export class ProxyServer {
  readonly requests: ProxyRequest[] = [];
  /** Ports on this machine by `host:port`; what is not among them is taken as it is. */
  readonly hosts = new Map<string, number>();
  /** What `Proxy-Authorization` has to be. */
  authorization: string | undefined;
  /** Answers every request with this status. */
  refuseWith: number | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor() {
    this.#server = createServer((request, response) => this.#forward(request, response));
    this.#server.on('connect', (request: IncomingMessage, socket: Socket) =>
      this.#tunnel(request, socket),
    );
    this.#server.on('connection', (socket: Socket) => this.#keep(socket));
  }

  static async start(): Promise<ProxyServer> {
    const proxy = new ProxyServer();
    await new Promise<void>((resolve) => {
      proxy.#server.listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** What was asked for, without repetitions. */
  get targets(): string[] {
    return [...new Set(this.requests.map(({ method, target }) => `${method} ${target}`))];
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => {
      this.#server.close(resolve);
    });
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
  }

  /** @returns the status of a refusal; 0: it may pass */
  #judge({ method = '', url: target = '', headers }: IncomingMessage): number {
    this.requests.push({ method, target, headers });
    const isKnown =
      this.authorization === undefined || headers['proxy-authorization'] === this.authorization;
    return this.refuseWith ?? (isKnown ? 0 : 407);
  }

  #addressOf(host: string, port: number): { readonly host: string; readonly port: number } {
    const own = this.hosts.get(`${host}:${port}`);
    return own === undefined ? { host, port } : { host: '127.0.0.1', port: own };
  }

  #tunnel(request: IncomingMessage, socket: Socket): void {
    const status = this.#judge(request);
    if (status !== 0) {
      socket.end(`HTTP/1.1 ${status} No\r\n\r\n`);
      return;
    }
    const { hostname, port } = new URL(`http://${request.url}`);
    const far = connect(this.#addressOf(hostname, Number(port === '' ? 80 : port)), () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(far).pipe(socket);
    });
    this.#keep(far);
    far.on('close', () => socket.destroy());
    socket.on('close', () => far.destroy());
  }

  #forward(request: IncomingMessage, response: ServerResponse): void {
    const status = this.#judge(request);
    const url = URL.parse(request.url ?? '');
    if (status !== 0 || url === null) {
      response.writeHead(status || 400).end();
      return;
    }
    const port = url.port === '' ? 80 : Number(url.port);
    const { 'proxy-authorization': _, ...headers } = request.headers;
    const onward = httpRequest(
      {
        ...this.#addressOf(url.hostname, port),
        path: `${url.pathname}${url.search}`,
        method: request.method,
        headers,
        agent: false,
      },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  }
}
