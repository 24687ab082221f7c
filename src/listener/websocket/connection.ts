// One WebSocket: a text frame is a message; pinged, so that a peer that vanished is noticed; bounded
// toward one that does not read (protocol.md 2.6).
import type { Socket } from 'node:net';
import type { RawData, WebSocket } from 'ws';
import { after, every, type Timer } from '../../base/clock.ts';
import { type FindOwner, HeldAmount } from '../../base/held-bytes.ts';
import { watchUnread } from '../../base/unread.ts';
import type { ChannelTransport, MessageChannel } from '../../session/message-channel.ts';
import { IncomingBytes } from './incoming-bytes.ts';

const PING_MS = 25_000;
const CLOSE_LIMIT_MS = 2_000;
const MAX_WAITING_BYTES = 1024 * 1024;

const UNSUPPORTED_DATA = 1003;
const GOING_AWAY = 1001;
const TRY_AGAIN_LATER = 1013;
const POLICY_VIOLATION = 1008;

export interface ConnectionContext {
  /** Whose it is, where what it holds counts. */
  readonly owner: FindOwner;
  /** Of one message. */
  readonly maxBytes: number;
  /** Told when the peer is cut off because it did not read. */
  slow(): void;
  /** Told when the peer has to come back, since there was no room for its message. */
  refused(): void;
}

/** An open socket as a transport of messages. */
export class WebSocketConnection implements ChannelTransport {
  readonly #socket: WebSocket;
  readonly #context: ConnectionContext;
  readonly #ping: Timer;
  readonly #incoming: IncomingBytes;
  readonly #tcp: Socket;
  readonly #unread: HeldAmount;
  /** Reasons not to read. */
  #holds = 0;
  #isAlive = true;

  /** @param tcp the connection that it is on */
  constructor(socket: WebSocket, tcp: Socket, context: ConnectionContext) {
    this.#socket = socket;
    this.#tcp = tcp;
    this.#context = context;
    this.#unread = new HeldAmount(context.owner, 'unread', () => this.#cut());
    tcp.on('drain', () => this.#unread.release());
    this.#ping = every(PING_MS, () => this.#checkAlive());
    this.#incoming = new IncomingBytes(tcp, {
      owner: context.owner,
      maxBytes: context.maxBytes,
      hold: (isHeld) => this.hold(isHeld),
      refused: () => this.#refuse(),
    });
    socket.on('ping', (payload) => this.#incoming.control(payload));
    socket.on('pong', (payload) => {
      this.#isAlive = true;
      this.#incoming.control(payload);
    });
    socket.on('error', () => socket.terminate());
    watchUnread(
      tcp,
      () => socket.bufferedAmount,
      () => this.#cut(),
    );
  }

  /** Hands what arrives to the channel, until the socket is closed. */
  serve(channel: Pick<MessageChannel, 'receive' | 'close'>, closed: () => void): void {
    this.#socket.on('message', (data: RawData, isBinary: boolean) => {
      this.#isAlive = true;
      this.#incoming.whole();
      if (isBinary) this.#socket.close(UNSUPPORTED_DATA, 'text frames only');
      else channel.receive(asBuffer(data));
    });
    this.#socket.once('close', () => {
      this.#ping.cancel();
      this.#incoming.close();
      this.#unread.release();
      channel.close();
      closed();
    });
  }

  hold(isHeld: boolean): void {
    this.#holds += isHeld ? 1 : -1;
    if (isHeld && this.#holds === 1) this.#socket.pause();
    else if (this.#holds === 0) this.#socket.resume();
  }

  send(message: Buffer): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#socket.bufferedAmount > MAX_WAITING_BYTES) {
      this.#cut();
      return;
    }
    this.#socket.send(message, { binary: false });
    if (this.#tcp.writableNeedDrain) this.#unread.set(this.#socket.bufferedAmount);
  }

  end(): void {
    this.#close(GOING_AWAY);
  }

  /** Ends it because its client would not be let in any more. */
  endUnauthorized(): void {
    this.#close(POLICY_VIOLATION);
  }

  #cut(): void {
    // A close that is under way has its own limit.
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#context.slow();
    this.#socket.close(TRY_AGAIN_LATER, 'does not read');
    this.#socket.terminate();
  }

  #refuse(): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#context.refused();
    this.#socket.close(TRY_AGAIN_LATER, 'too many bytes are held');
    this.#socket.terminate();
  }

  #close(code: number): void {
    this.#ping.cancel();
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.close(code);
    // A peer that does not answer the close must not hold the socket.
    const timer = after(CLOSE_LIMIT_MS, () => this.#socket.terminate());
    this.#socket.once('close', () => timer.cancel());
  }

  #checkAlive(): void {
    // A ping would wait behind a large message that is being read, which is watched.
    if (this.#socket.bufferedAmount > MAX_WAITING_BYTES) return;
    // What the peer says is not read now.
    if (this.#holds > 0) return;
    if (!this.#isAlive) {
      this.#socket.terminate();
      return;
    }
    this.#isAlive = false;
    this.#socket.ping();
  }
}

/** What is read at once, and kept as long as any message that came with it. */
const CHUNK_BYTES = 8 * 1024;

/** A message in memory of hardly more than its size: a call may take long. */
function asBuffer(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  if (!Buffer.isBuffer(data)) return Buffer.from(data);
  return data.buffer.byteLength > data.length + CHUNK_BYTES ? Buffer.from(data) : data;
}
