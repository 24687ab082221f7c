// When a request is worked on. Those behind others on one connection wait for the answers to these
// (RFC 9112 9.3.2), and only a few do: then the connection is not read until they are answered, so that a
// client that sends on and on costs what a few requests cost. What is read and served in a turn of the
// event loop is bounded too, of each client and of all, over all of their connections.
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

/** Requests that wait on a connection behind the one that is worked on. */
const MAX_WAITING = 8;
/** How long a connection is not read after an answer that says: too many requests. */
const REST_MS = 250;
/** What is taken in of what a client sends behind them, so that it is noticed when the client goes. */
const MAX_UNREAD_BYTES = 16 * 1024;
/** What Node's parser takes for an upgrade: it stops behind the head of this request. */
const STOP_PARSING = 2;
/** What each name and each value of a header costs to read, besides its length. */
const HEADER_COST = 16;

/** What Node's parser says of a connection that ends within a request. */
const CUT_SHORT = 'HPE_INVALID_EOF_STATE';
/** What Node's server says of a request that did not come in time. */
const TOO_SLOW = 'ERR_HTTP_REQUEST_TIMEOUT';
/** What it costs to close a connection, in bytes. */
const CLOSE_COST = 2 * LEAST_COST;

type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** Decides when the requests of one server are worked on. */
export class RequestTurns {
  readonly #server: Server;
  readonly #sockets: OpenSockets;
  /** What a server tells of a connection that requests can arrive on. */
  readonly #event: 'secureConnection' | 'connection';
  readonly #upgrade: UpgradeListener;
  readonly #held: HeldBytes;
  readonly #bodies = new BodyTurns();
  readonly #heads: UnfinishedHeads;

  /**
   * @param isSecure whether a connection is one only after its TLS handshake
   * @param upgrade given a request for an upgrade when its connection has nothing else to do
   * @param held counts what was read of connections and waits
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
   * Thousands of connections may break at once: what cannot be read is answered, and its connection closed,
   * in turns. Who goes away within a request reads no answer, and gets none.
   */
  #closeInTurns(): void {
    const server = this.#server;
    const others = server.listeners('clientError');
    server.removeAllListeners('clientError');
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      // It would be written out for each.
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

  /** Hands a request to `serve` when its turn has come; not at all when its client is gone by then. */
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
   * Says whose the latest request of a connection is. What comes next on it is most likely the same
   * client's, and counts as that from the start.
   * @param quota undefined: of the connection's address
   * @param client whose bytes are held for it; undefined: its address's
   * @returns where the request itself has not been counted yet, if so
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

  /** What the client of a connection may cost in a turn; undefined when the connection is closed. */
  quotaOf({ socket }: IncomingMessage): TurnQuota | undefined {
    return this.#sockets.of(socket)?.quota;
  }

  /** Notes that a request costs more than others. */
  spend({ socket }: IncomingMessage, bytes: number): void {
    this.#sockets.of(socket)?.quota.spend(bytes);
  }

  /** Reads no more of a connection for a while after this answer: whoever asks too much is read later. */
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

  /** Looks at each request before anything is made of it. */
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
      // Taken for an upgrade, the server lets go of the connection and hands over what follows the head.
      connection.isHeld = true;
      Object.assign(request, { upgrade: true });
      return STOP_PARSING;
    };
  }

  /** A connection that the HTTP server has let go of. */
  #onDetached(request: IncomingMessage, socket: HttpSocket, rest: Buffer): void {
    const connection = this.#sockets.of(socket);
    if (connection === undefined || (!connection.isHeld && responseOn(socket) === undefined)) {
      this.#handOver(request, socket, rest);
      return;
    }
    // The server must not go on reading what is not its own any more.
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

  /** Gives a connection back to the HTTP server, with the request that it had no room for. */
  #readOn(request: IncomingMessage, connection: Connection, unread: UnreadInput): void {
    const { socket, quota } = connection;
    if (socket.destroyed || !socket.writable) return;
    const restMs = connection.restsUntilMs - monotonicMs();
    if (restMs > 0) {
      after(restMs, () => quota.wait(() => this.#readOn(request, connection, unread)));
      return;
    }
    // It is read only after all that go on in this turn were let go on. Giving it back costs more than a
    // request, so it is worth reading several.
    connection.paid = MAX_WAITING + 1;
    quota.spend(REQUEST_COST * connection.paid);
    if (connection.isInChunks) quota.spend(CHUNKS_COST);
    connection.isDetached = false;
    // It was the time that a client may have for its next request.
    socket.setTimeout(0);
    // Not as one, since the rest is large and would be copied again and again.
    const rest = unread.take();
    if (rest.length > 0) socket.unshift(rest);
    socket.unshift(headOf(request));
    this.#server.emit(this.#event, socket);
    // The parser reads it by events now, and no more by itself.
    this.#bodies.watchData(connection, (bytes) => this.#heads.read(connection, bytes));
  }
}

/** Reads on after a rest, unless that is for others to decide by now. */
function resumeRested({ socket, quota, isDetached }: Connection): void {
  if (socket.destroyed || isDetached) return;
  quota.spend(REQUEST_COST);
  socket.resume();
}

/**
 * What a client sends while nobody may read it. A little is taken in, so that its end is noticed. On very
 * many connections that is much: beyond what their client may have held, they are closed.
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

  /** Gives it back, and leaves the socket to the next one who listens, as Node does after an upgrade. */
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

  /** As the HTTP server does it: who sends no more gets no more answers. */
  readonly #end = (): void => {
    this.#socket.end();
  };

  readonly #close = (): void => {
    this.#bytes.clear();
    this.#amount.release();
  };
}

/**
 * Has the HTTP server work off the end of a connection in turns: clients may end thousands at once. Its
 * listener is replaced, so it has to be removed where the server lets go of the connection.
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

/** Whether a connection has asked for all that it may for now. */
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

/** Serves a request as soon as there is something left of this turn. */
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

/** Goes on when everything is answered, unless the connection is over with that. */
function whenAnswered(socket: HttpSocket, then: () => void): void {
  const response = responseOn(socket);
  if (socket.destroyed) return;
  if (response !== undefined) response.once('close', () => whenAnswered(socket, then));
  else if (socket.writable) then();
}

/** The head of a request as its client sent it, but for white space that means nothing. */
function headOf({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    text += `${rawHeaders[at]}: ${rawHeaders[at + 1]}\r\n`;
  }
  return Buffer.from(`${text}\r\n`, 'latin1');
}
