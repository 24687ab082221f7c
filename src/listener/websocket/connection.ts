// One WebSocket: a text frame is a message; pinged, so that a peer that vanished is noticed; bounded
// toward one that does not read (protocol.md 2.6).
import type { Socket } from 'node:net';
import type { RawData, WebSocket } from 'ws';
import { after, every, type Timer } from '../../base/clock.ts';
import { watchUnread } from '../../base/unread.ts';
import type { ChannelTransport, MessageChannel } from '../../session/message-channel.ts';

const PING_MS = 25_000;
const CLOSE_LIMIT_MS = 2_000;
const MAX_WAITING_BYTES = 1024 * 1024;

const UNSUPPORTED_DATA = 1003;
const GOING_AWAY = 1001;
const TRY_AGAIN_LATER = 1013;
const POLICY_VIOLATION = 1008;

/** An open socket as a transport of messages. */
export class WebSocketConnection implements ChannelTransport {
  readonly #socket: WebSocket;
  readonly #slow: () => void;
  readonly #ping: Timer;
  #isAlive = true;

  /**
   * @param tcp the connection that it is on
   * @param slow told when the peer is cut off because it did not read
   */
  constructor(socket: WebSocket, tcp: Socket, slow: () => void) {
    this.#socket = socket;
    this.#slow = slow;
    this.#ping = every(PING_MS, () => this.#checkAlive());
    socket.on('pong', () => {
      this.#isAlive = true;
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
      if (isBinary) this.#socket.close(UNSUPPORTED_DATA, 'text frames only');
      else channel.receive(asBuffer(data));
    });
    this.#socket.once('close', () => {
      this.#ping.cancel();
      channel.close();
      closed();
    });
  }

  send(message: Buffer): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#socket.bufferedAmount > MAX_WAITING_BYTES) {
      this.#cut();
      return;
    }
    this.#socket.send(message, { binary: false });
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
    this.#slow();
    this.#socket.close(TRY_AGAIN_LATER, 'does not read');
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
    if (!this.#isAlive) {
      this.#socket.terminate();
      return;
    }
    this.#isAlive = false;
    this.#socket.ping();
  }
}

function asBuffer(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}
