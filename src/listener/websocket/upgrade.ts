// The upgrade to a WebSocket: the same checks as every HTTP request, then subprotocol `mcp` or none
// (protocol.md 2.6).
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { MessageChannel } from '../../session/message-channel.ts';
import { type ListenerContext, noteMessage, type ServedEndpoint } from '../context.ts';
import { WebSocketConnection } from './connection.ts';

const TRANSPORT = 'websocket';
const SUBPROTOCOL = 'mcp';

/** The WebSockets of the public listener. */
export class WebSockets {
  readonly #context: ListenerContext;
  readonly #server: WebSocketServer;
  readonly #connections = new Set<WebSocketConnection>();

  constructor(context: ListenerContext) {
    this.#context = context;
    this.#server = new WebSocketServer({
      noServer: true,
      maxPayload: context.options.maxBodyBytes,
      perMessageDeflate: false,
      clientTracking: false,
      handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
    });
  }

  get size(): number {
    return this.#connections.size;
  }

  /** Takes over a request whose Host, Origin and path are right. */
  upgrade(served: ServedEndpoint, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const offered = request.headers['sec-websocket-protocol'];
    const protocols = offered?.split(',').map((name) => name.trim()) ?? [];
    if (protocols.length > 0 && !protocols.includes(SUBPROTOCOL)) {
      refuseUpgrade(socket, 400, 'Bad Request');
    } else if (this.#context.isDraining()) {
      refuseUpgrade(socket, 503, 'Service Unavailable');
    } else {
      this.#server.handleUpgrade(request, socket, head, (opened) =>
        this.#open(served, request, opened),
      );
    }
  }

  /** Closes all of them. */
  close(): void {
    for (const connection of this.#connections) connection.end();
    this.#server.close();
  }

  #open(served: ServedEndpoint, request: IncomingMessage, socket: WebSocket): void {
    const { sessions, modern, isDraining, metrics } = this.#context;
    const connection = new WebSocketConnection(socket, () =>
      metrics.slowConsumers.inc({ transport: TRANSPORT }),
    );
    const channel = new MessageChannel({
      transportName: TRANSPORT,
      transport: connection,
      endpoint: served.endpoint,
      principal: this.#context.authenticate(request),
      meter: served.meter,
      sessions,
      modern,
      isDraining,
    });
    this.#connections.add(connection);
    connection.serve(
      {
        receive: (bytes) => {
          noteMessage(this.#context, served, bytes);
          channel.receive(bytes);
        },
        close: () => channel.close(),
      },
      () => this.#connections.delete(connection),
    );
    if (served.endpoint.protocol === 'jsonrpc') void channel.openPlain();
  }
}

/** Answers an upgrade request with an error. */
export function refuseUpgrade(socket: Duplex, status: number, reason: string): void {
  socket.end(`HTTP/1.1 ${status} ${reason}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
