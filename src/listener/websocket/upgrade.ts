// The upgrade to a WebSocket: the same checks as for every HTTP request, then the subprotocol `mcp` or none
// (docs/protocol.md#websocket).

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ServerOptions, type WebSocket, WebSocketServer } from 'ws';
import { after } from '../../base/clock.ts';
import type { TurnQuota } from '../../base/turns.ts';
import { STATUS_CODES } from '../../http/light-parts.ts';
import { scan } from '../../jsonrpc/scan.ts';
import { errorMessage } from '../../jsonrpc/serialize.ts';
import { wireErrorOf } from '../../mcp/errors.ts';
import { FAILURES } from '../../mcp/failures.ts';
import type { Principal } from '../../ports/principal.ts';
import { MessageChannel } from '../../session/message-channel.ts';
import type { ServedEndpoint } from '../../session/served-endpoint.ts';
import { type ListenerContext, noteMessage } from '../context.ts';
import {
  drainRefusal,
  REFUSALS,
  type Refusal,
  refusalBody,
  streamRefusal,
} from '../error-response.ts';
import { WebSocketConnection } from './connection.ts';

const TRANSPORT = 'websocket';
const SUBPROTOCOL = 'mcp';
/** Limits for the pieces of a message: each one costs some hundred bytes of memory. */
const MAX_CHUNKS = 16 * 1024;
const MAX_FRAGMENTS = 4 * 1024;
/** How long a client may take to read the close frame after an error. */
const CLOSE_LIMIT_MS = 10_000;
/** How long sending a refusal may take. */
const LINGER_MS = 2_000;

/** An upgrade request. */
export interface UpgradeCall {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** What the client sent after the head. */
  readonly head: Buffer;
  /** What its client may cost in a turn of the event loop. */
  readonly turns: TurnQuota;
}

/** The WebSockets of the public listener. */
export class WebSockets {
  readonly #context: ListenerContext;
  readonly #server: WebSocketServer;
  readonly #connections = new Map<WebSocketConnection, ServedEndpoint>();

  constructor(context: ListenerContext) {
    this.#context = context;
    const options: ServerOptions & { readonly closeTimeout: number } = {
      noServer: true,
      maxPayload: context.options.maxBody,
      maxBufferedChunks: MAX_CHUNKS,
      maxFragments: MAX_FRAGMENTS,
      perMessageDeflate: false,
      clientTracking: false,
      // Of many pings in a turn only the latest is answered, by WebSocketConnection.
      autoPong: false,
      closeTimeout: CLOSE_LIMIT_MS,
      handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
    };
    this.#server = new WebSocketServer(options);
  }

  get size(): number {
    return this.#connections.size;
  }

  /** Upgrades an accepted request. */
  upgrade(served: ServedEndpoint, principal: Principal, call: UpgradeCall): void {
    const { request, socket, head } = call;
    const reason = this.#context.openStreams.refusal(principal);
    const offered = request.headers['sec-websocket-protocol'];
    const protocols = offered?.split(',').map((name) => name.trim()) ?? [];
    if (protocols.length > 0 && !protocols.includes(SUBPROTOCOL)) {
      refuseUpgrade(socket, REFUSALS.subprotocol);
    } else if (served.drain.isOn) {
      refuseUpgrade(socket, drainRefusal(served));
    } else if (reason !== undefined) {
      refuseUpgrade(socket, streamRefusal(reason));
    } else {
      this.#server.handleUpgrade(request, socket, head, (opened) =>
        this.#open(served, principal, opened, call),
      );
    }
  }

  /** Closes those of an endpoint. */
  endOf(served: ServedEndpoint): void {
    for (const [connection, at] of [...this.#connections]) if (at === served) connection.end();
  }

  /** Closes all of them. */
  close(): void {
    for (const connection of this.#connections.keys()) connection.end();
    this.#server.close();
  }

  /**
   * Checks access again for each message. A client that sends too much gets one error, and is not read for a
   * while.
   * @returns false if the message must be tried again then
   */
  #receive(
    bytes: Buffer,
    principal: Principal,
    connection: WebSocketConnection,
    channel: MessageChannel,
    turns: TurnQuota,
  ): boolean {
    const { gatekeeper } = this.#context;
    if (!gatekeeper.holds(principal)) {
      connection.endUnauthorized();
      return true;
    }
    const waitMs = gatekeeper.takeMessage(principal);
    if (waitMs === 0) {
      channel.receive(bytes, turns);
      return true;
    }
    connection.rest(waitMs);
    const { kind, idBytes } = scan(bytes, { anyParams: true });
    // A lost cancellation or answer could not be repeated.
    if (kind !== 'request') return false;
    channel.send(errorMessage(idBytes, wireErrorOf(FAILURES.tooFast())));
    return true;
  }

  #open(
    served: ServedEndpoint,
    principal: Principal,
    opened: WebSocket,
    { socket, turns }: UpgradeCall,
  ): void {
    const { sessions, modern, drain, metrics, openStreams, held, options } = this.#context;
    const connection = new WebSocketConnection(opened, socket as Socket, {
      owner: () => held.client(principal),
      turns,
      maxBytes: options.maxBody,
      drain,
      slow: () => metrics.slowConsumers.inc({ transport: TRANSPORT }),
      refused: () => metrics.rejected.inc({ reason: 'held_bytes' }),
    });
    const openStream = { principal, end: () => connection.endUnauthorized() };
    const channel = new MessageChannel({
      transportName: TRANSPORT,
      transport: connection,
      served,
      principal,
      sessions,
      modern,
      tookBatch: (messages) => this.#context.gatekeeper.takeBatch(principal, messages),
    });
    this.#connections.set(connection, served);
    openStreams.take(openStream);
    connection.serve(
      {
        receive: (bytes) => {
          const isTaken = this.#receive(bytes, principal, connection, channel, turns);
          if (isTaken) noteMessage(this.#context, served, bytes);
          return isTaken;
        },
        close: () => channel.close(),
      },
      () => {
        this.#connections.delete(connection);
        openStreams.release(openStream);
      },
    );
    if (served.endpoint.protocol === 'jsonrpc') void channel.openPlain();
  }
}

/**
 * Answers an upgrade request with an error, and closes the connection. Otherwise a client that never closes
 * its side would keep the connection open.
 */
export function refuseUpgrade(socket: Duplex, refusal: Refusal): void {
  const body = refusalBody(refusal);
  const headers = {
    ...refusal.headers,
    connection: 'close',
    'content-type': 'application/json',
    'content-length': body.length,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const status = `${refusal.status} ${STATUS_CODES[refusal.status] ?? 'Refused'}`;
  const timer = after(LINGER_MS, () => socket.destroy());
  socket.once('close', () => timer.cancel());
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${body.toString('utf8')}`);
}
