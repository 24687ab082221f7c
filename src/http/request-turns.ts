// Decides when a request is processed. On one connection, later requests wait for the answers to earlier ones
// (RFC 9112 9.3.2). Only a few may wait; then the connection is not read, so that a client that sends without
// pause costs no more than a few requests. The work of one turn of the event loop is limited too, for each
// client and for all, over all their connections.
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { after, monotonicMs } from '../base/clock.ts';
import { GatheredBytes } from '../base/gathered-bytes.ts';
import { HeldAmount, type HeldBytes, type HeldClient, UNBOUNDED } from '../base/held-bytes.ts';
import { LEAST_COST, type TurnQuota } from '../base/turns.ts';
import { BodyTurns } from './body-turns.ts';
import { CHUNKS_COST, REQUEST_COST } from './client-turns.ts';
import { type HttpSocket, responseOn } from './http-socket.ts';
import type { Connection, OpenSockets } from './open-sockets.ts';
import { UnfinishedHeads } from './unfinished-heads.ts';

/** Requests that may wait on a connection behind the current one. */
const MAX_WAITING = 8;
/** How long a connection is not read after a 429 response, in milliseconds. */
const REST_MS = 250;
/** How much is read from a client whose connection is paused, to notice when it disconnects. */
const MAX_UNREAD_BYTES = 16 * 1024;
/** Node's parser takes this result for an upgrade: it stops after the head of the request. */
const STOP_PARSING = 2;
/** The cost of each name and each value of a header, in addition to its length. */
const HEADER_COST = 16;

/** Node's parser gives this code when a connection ends within a request. */
const CUT_SHORT = 'HPE_INVALID_EOF_STATE';
/** What Node's server says of a request that did not come in time. */
const TOO_SLOW = 'ERR_HTTP_REQUEST_TIMEOUT';
/** The cost of closing a connection. */
const CLOSE_COST = 2 * LEAST_COST;

type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** Decides when the requests of one server are processed. */
export class RequestTurns {
  readonly #server: Server;
  readonly #sockets: OpenSockets;
  /** The server's event for a connection on which requests can arrive. */
  readonly #event: 'secureConnection' | 'connection';
  readonly #upgrade: UpgradeListener;
  readonly #held: HeldBytes;
  readonly #bodies = new BodyTurns();
  readonly #heads: UnfinishedHeads;

  /**
   * @param isSecure whether a connection exists only after its TLS handshake
   * @param upgrade called for an upgrade request when nothing else is in progress on its connection
   * @param held counts bytes of connections that were read and wait
   */
  constructor(
    server: Server,
    sockets: OpenSockets,
    isSecure: boolean,
    upgrade: UpgradeListener,
    held: HeldBytes = UNBOUNDED,
  ) {
    this.#held = held;
    this.#heads = new UnfinishedHeads(held);
    this.#server = server;
    this.#sockets = sockets;
    this.#event = isSecure ? 'secureConnection' : 'connection';
    this.#upgrade = upgrade;
    server.on(this.#event, (socket: HttpSocket) => this.#watch(socket));
    server.on('upgrade', (request, socket, head) =>
      this.#onDetached(request, socket as HttpSocket, head),
    );
    this.#closeInTurns();
  }

  /**
   * Thousands of connections may fail at once. So invalid requests are answered, and their connections
   * closed, in turns. A client that disconnects within a request gets no answer.
   */
  #closeInTurns(): void {
    const server = this.#server;
    const others = server.listeners('clientError');
    server.removeAllListeners('clientError');
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      // Otherwise a stack trace would be formatted for each.
      error.stack = error.message;
      const close = (): void => {
        if (error.code === CUT_SHORT || others.length === 0) socket.destroy();
        else for (const other of others) other.call(server, error, socket);
      };
      // Of one that is answered for its slowness more is read: what is unread when a connection is closed
      // makes its client lose the answer.
      if (error.code !== TOO_SLOW) socket.pause();
      const quota = this.#sockets.of(socket)?.quota;
      if (quota === undefined) close();
      else quota.wait(close, CLOSE_COST);
    });
  }

  /** Calls `serve` when it is the request's turn; never, if the client disconnects before. */
  take(request: IncomingMessage, response: ServerResponse, serve: RequestListener): void {
    const connection = this.#sockets.of(request.socket);
    if (connection === undefined) return;
    this.#sockets.noteUse(connection);
    if (response.socket !== null) {
      serveInTurn(connection.quota, request, response, serve);
      return;
    }
    connection.waiting++;
    response.once('socket', () => {
      connection.waiting--;
      serveInTurn(connection.quota, request, response, serve);
    });
  }

  /**
   * Assigns the latest request of a connection to a client. The next requests on it are most likely from the
   * same client, and count for it from the start.
   * @param quota undefined: the quota of the connection's address
   * @param client whose bytes are held for it; undefined: its address
   * @returns the quota on which the request must still be counted, if any
   */
  assign(
    { socket }: IncomingMessage,
    quota: TurnQuota | undefined,
    client?: HeldClient,
  ): TurnQuota | undefined {
    const connection = this.#sockets.of(socket);
    if (connection === undefined) return undefined;
    connection.client = (quota && client) ?? connection.addressClient;
    const before = connection.quota;
    connection.quota = quota ?? connection.addressQuota;
    return connection.quota === before ? undefined : connection.quota;
  }

  /** What the client of a connection may cost in a turn; undefined if the connection is closed. */
  quotaOf({ socket }: IncomingMessage): TurnQuota | undefined {
    return this.#sockets.of(socket)?.quota;
  }

  /** Adds to the cost of a request. */
  spend({ socket }: IncomingMessage, bytes: number): void {
    this.#sockets.of(socket)?.quota.spend(bytes);
  }

  /** Pauses a connection for a while after this answer, because its client sends too many requests. */
  rest({ socket }: IncomingMessage, response: ServerResponse): void {
    response.once('close', () => {
      const connection = this.#sockets.of(socket);
      if (socket.destroyed || connection === undefined) return;
      connection.restsUntilMs = monotonicMs() + REST_MS;
      if (connection.isDetached) return;
      socket.pause();
      after(REST_MS, () => connection.quota.wait(() => resumeRested(connection)));
    });
  }

  /** Looks at each request before anything is done with it. */
  #watch(socket: HttpSocket): void {
    const { parser } = socket;
    const connection = this.#sockets.of(socket);
    if (connection === undefined || parser === undefined || parser === null) return;
    endInTurns(connection);
    this.#bodies.watch(connection, parser);
    this.#heads.watch(connection, parser);
    const take = parser.onIncoming;
    parser.onIncoming = (request, keepAlive) => {
      this.#heads.finish(connection);
      const isEarly = !this.#bodies.mayBegin(connection, request);
      spendRead(connection, request);
      if (!isEarly && !hasEnough(connection)) return take.call(parser, request, keepAlive);
      // The server takes it for an upgrade: it detaches the connection, and passes on what follows the head.
      connection.isHeld = true;
      Object.assign(request, { upgrade: true });
      return STOP_PARSING;
    };
  }

  /** Called when the HTTP server has detached a connection. */
  #onDetached(request: IncomingMessage, socket: HttpSocket, rest: Buffer): void {
    const connection = this.#sockets.of(socket);
    if (connection === undefined || (!connection.isHeld && responseOn(socket) === undefined)) {
      this.#handOver(request, socket, rest);
      return;
    }
    // The server must not read the connection any more.
    socket._paused = false;
    const { isHeld, quota, client, onData, onEnd } = connection;
    if (onData !== undefined) socket.off('data', onData);
    if (onEnd !== undefined) socket.off('end', onEnd);
    const unread = new UnreadInput(socket, this.#held, client, rest);
    connection.isHeld = false;
    connection.isDetached = true;
    whenAnswered(socket, () => {
      if (isHeld) quota.wait(() => this.#readOn(request, connection, unread));
      else this.#handOver(request, socket, unread.take());
    });
  }

  #handOver(request: IncomingMessage, socket: Socket, rest: Buffer): void {
    const connection = this.#sockets.of(socket);
    if (connection !== undefined) {
      this.#sockets.noteUse(connection);
      connection.isUpgraded = true;
      if (connection.onEnd !== undefined) socket.off('end', connection.onEnd);
    }
    this.#upgrade(request, socket, rest);
  }

  /** Gives a connection back to the HTTP server, with the request that had to wait. */
  #readOn(request: IncomingMessage, connection: Connection, unread: UnreadInput): void {
    const { socket, quota } = connection;
    if (socket.destroyed || !socket.writable) return;
    const restMs = connection.restsUntilMs - monotonicMs();
    if (restMs > 0) {
      after(restMs, () => quota.wait(() => this.#readOn(request, connection, unread)));
      return;
    }
    // It is read only after the others that continue in this turn. Giving it back costs more than a request,
    // so several requests are paid for in advance.
    connection.paid = MAX_WAITING + 1;
    quota.spend(REQUEST_COST * connection.paid);
    if (connection.isInChunks) quota.spend(CHUNKS_COST);
    connection.isDetached = false;
    // The server has set the timeout for the next request.
    socket.setTimeout(0);
    // In two parts: joining them would copy the rest, which is large, again and again.
    const rest = unread.take();
    if (rest.length > 0) socket.unshift(rest);
    socket.unshift(headOf(request));
    this.#server.emit(this.#event, socket);
    // The parser gets `data` events now, and does not read by itself.
    this.#bodies.watchData(connection, (bytes) => this.#heads.read(connection, bytes));
  }
}

/** Reads again after a pause, unless other code now decides about that. */
function resumeRested({ socket, quota, isDetached }: Connection): void {
  if (socket.destroyed || isDetached) return;
  quota.spend(REQUEST_COST);
  socket.resume();
}

/**
 * What a client sends while its connection is paused. A little is read, to notice when it disconnects. Over
 * very many connections this adds up, so connections beyond the client's share of held bytes are closed.
 */
class UnreadInput {
  readonly #socket: Socket;
  readonly #held: HeldBytes;
  readonly #client: HeldClient;
  readonly #amount: HeldAmount;
  readonly #bytes = new GatheredBytes();

  constructor(socket: Socket, held: HeldBytes, client: HeldClient, first: Buffer) {
    this.#socket = socket;
    this.#held = held;
    this.#client = client;
    this.#amount = new HeldAmount(
      () => held.client(client),
      'body',
      () => socket.destroy(),
    );
    socket.on('data', this.#gather).on('end', this.#end).once('close', this.#close);
    this.#gather(first);
  }

  /** Returns what was read, and leaves the socket to the next listener, like Node after an upgrade. */
  take(): Buffer {
    const socket = this.#socket.off('data', this.#gather).off('end', this.#end);
    socket.off('close', this.#close).pause();
    Object.assign(socket, { readableFlowing: null });
    this.#amount.release();
    return this.#bytes.take();
  }

  readonly #gather = (chunk: Buffer): void => {
    if (!this.#held.client(this.#client).hasRoom(chunk.length)) {
      this.#socket.destroy();
      return;
    }
    this.#bytes.push(chunk);
    this.#amount.set(this.#bytes.length);
    if (this.#bytes.length > MAX_UNREAD_BYTES) this.#socket.pause();
  };

  /** Like the HTTP server: a client that has ended its side gets no more answers. */
  readonly #end = (): void => {
    this.#socket.end();
  };

  readonly #close = (): void => {
    this.#bytes.clear();
    this.#amount.release();
  };
}

/**
 * Lets the HTTP server process the ends of connections in turns, because clients may end thousands at once.
 * This replaces the server's listener, so it must be removed when the server detaches the connection.
 */
function endInTurns(connection: Connection): void {
  const { socket } = connection;
  const listeners = socket.listeners('end');
  socket.removeAllListeners('end');
  const end = (): void => {
    if (socket.destroyed || connection.isDetached || connection.isUpgraded) return;
    for (const listener of listeners) listener.call(socket);
  };
  connection.onEnd = () => {
    const { quota } = connection;
    if (quota.isSpent) {
      quota.wait(end, CLOSE_COST);
    } else {
      quota.spend(CLOSE_COST);
      end();
    }
  };
  socket.on('end', connection.onEnd);
}

/** Whether a connection has reached its limit for now. */
function hasEnough({ socket, waiting, paid, quota }: Connection): boolean {
  if (responseOn(socket) === undefined) return false;
  return waiting >= MAX_WAITING || (paid === 0 && quota.isSpent);
}

/** Counts a request that was read. */
function spendRead(connection: Connection, { rawHeaders }: IncomingMessage): void {
  const isPaid = connection.paid > 0;
  if (isPaid) connection.paid--;
  connection.quota.spend((isPaid ? 0 : REQUEST_COST) + headCost(rawHeaders));
}

function headCost(rawHeaders: readonly string[]): number {
  let bytes = HEADER_COST * rawHeaders.length;
  for (const text of rawHeaders) bytes += text.length;
  return bytes;
}

/** Serves a request as soon as the quota of this turn allows it. */
export function serveInTurn(
  quota: TurnQuota,
  request: IncomingMessage,
  response: ServerResponse,
  serve: (request: IncomingMessage, response: ServerResponse) => void,
): void {
  if (request.socket.destroyed) return;
  if (quota.isSpent) {
    quota.wait(() => serveInTurn(quota, request, response, serve));
  } else {
    quota.spend(REQUEST_COST);
    serve(request, response);
  }
}

/** Continues when all requests are answered, unless the connection ends then. */
function whenAnswered(socket: HttpSocket, then: () => void): void {
  const response = responseOn(socket);
  if (socket.destroyed) return;
  if (response !== undefined) response.once('close', () => whenAnswered(socket, then));
  else if (socket.writable) then();
}

/** The head of a request as the client sent it, except for optional white space. */
function headOf({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    text += `${rawHeaders[at]}: ${rawHeaders[at + 1]}\r\n`;
  }
  return Buffer.from(`${text}\r\n`, 'latin1');
}
