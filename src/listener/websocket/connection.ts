// One WebSocket: a text frame is a message. It is pinged, to detect peers that disappeared. What waits for a
// peer that does not read is limited (docs/protocol.md#websocket).
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import { after, every, type Timer } from '../../base/clock.ts';
import type { Drain } from '../../base/drain.ts';
import { type FindOwner, HeldAmount } from '../../base/held-bytes.ts';
import { watchStall } from '../../base/stalled-socket.ts';
import { onNextTurn, type TurnQuota } from '../../base/turns.ts';
import type { ChannelTransport } from '../../session/message-channel.ts';
import { IncomingBytes } from './incoming-bytes.ts';
import { TurnInput } from './turn-input.ts';

const PING_MS = 25_000;
const CLOSE_LIMIT_MS = 2_000;
const MAX_WAITING_BYTES = 1024 * 1024;
/** The shortest pause for a client that sends too much, because refusing costs something too. */
const MIN_REST_MS = 250;

const UNSUPPORTED_DATA = 1003;
const GOING_AWAY = 1001;
/** The client may connect again (https://www.iana.org/assignments/websocket). */
const SERVICE_RESTART = 1012;
const TRY_AGAIN_LATER = 1013;
const POLICY_VIOLATION = 1008;

export interface ConnectionContext {
  /** The client for which its bytes are held. */
  readonly owner: FindOwner;
  /** What the client may cost in a turn of the event loop. */
  readonly turns: TurnQuota;
  /** Limit for one message. */
  readonly maxBytes: number;
  /** Whether the gateway is stopping. */
  readonly drain: Drain;
  /** Called when the peer is disconnected because it does not read. */
  slow(): void;
  /** Called when the peer is disconnected because there was no room for its message. */
  refused(): void;
}

/** The only undocumented part of `ws` that is used: its frame parser. */
interface ParseState {
  readonly _receiver: Writable;
}

/** Gets the messages. */
export interface MessageTaker {
  /** @returns false if the message can't be taken now; the connection then pauses */
  receive(bytes: Buffer): boolean;
  close(): void;
}

/** An open WebSocket as a transport for messages. */
export class WebSocketConnection implements ChannelTransport {
  readonly #socket: WebSocket;
  readonly #context: ConnectionContext;
  readonly #ping: Timer;
  readonly #incoming: IncomingBytes;
  readonly #input: TurnInput;
  readonly #tcp: Socket;
  readonly #unread: HeldAmount;
  #taker: MessageTaker | undefined;
  #rest: Timer | undefined;
  #isAlive = true;
  /** The payload of the peer's latest ping. Only this one is answered (RFC 6455 5.5.3). */
  #pinged: Buffer | undefined;

  /** @param tcp its TCP or TLS socket */
  constructor(socket: WebSocket, tcp: Socket, context: ConnectionContext) {
    this.#socket = socket;
    this.#tcp = tcp;
    this.#context = context;
    this.#unread = new HeldAmount(context.owner, 'unread', () => this.#cut());
    tcp.on('drain', () => this.#unread.release());
    this.#ping = every(PING_MS, () => this.#checkAlive());
    // `ws` would parse everything at once.
    tcp.removeAllListeners('data');
    const { _receiver: parser } = socket as unknown as ParseState;
    this.#input = new TurnInput(tcp, parser, context.turns, (bytes) => this.#take(bytes));
    this.#incoming = new IncomingBytes(tcp, {
      owner: context.owner,
      maxBytes: context.maxBytes,
      hold: (isHeld) => this.hold(isHeld),
      refused: () => this.#refuse(),
    });
    socket.on('ping', (payload) => this.#onPing(payload));
    socket.on('pong', (payload) => {
      this.#isAlive = true;
      this.#incoming.control(payload);
    });
    // The socket is closed with a status. Reading continues until the peer has seen it.
    socket.on('error', () => this.#drop());
    watchStall(
      tcp,
      () => socket.bufferedAmount,
      () => this.#cut(),
    );
  }

  /** Passes incoming messages on, until the socket is closed. */
  serve(channel: MessageTaker, closed: () => void): void {
    this.#taker = channel;
    this.#socket.on('message', (data: RawData, isBinary: boolean) => {
      this.#isAlive = true;
      if (isBinary) this.#close(UNSUPPORTED_DATA, 'text frames only');
      else this.#input.message(asBuffer(data));
    });
    this.#socket.once('close', () => {
      this.#ping.cancel();
      this.#rest?.cancel();
      this.#input.close();
      this.#incoming.close();
      this.#unread.release();
      channel.close();
      closed();
    });
  }

  /** Pauses or resumes reading. Calls are counted: two holds need two releases. */
  hold(isHeld: boolean): void {
    this.#input.hold(isHeld);
  }

  /** Pauses reading for a while, because the peer sends too much. */
  rest(ms: number): void {
    if (this.#rest !== undefined) return;
    this.hold(true);
    this.#rest = after(Math.max(ms, MIN_REST_MS), () => {
      this.#rest = undefined;
      this.hold(false);
    });
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
    this.#close(this.#context.drain.isOn ? SERVICE_RESTART : GOING_AWAY);
  }

  /** Closes it because its client would no longer be accepted. */
  endUnauthorized(): void {
    this.#close(POLICY_VIOLATION);
  }

  #cut(): void {
    // A closing socket has its own time limit.
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#context.slow();
    this.#socket.close(TRY_AGAIN_LATER, 'does not read');
    this.#socket.terminate();
  }

  #refuse(): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#context.refused();
    this.#close(TRY_AGAIN_LATER, 'too many bytes are held');
  }

  /** Its bytes count as being received until the message is taken. */
  #take(bytes: Buffer): boolean {
    this.#incoming.whole();
    return this.#taker?.receive(bytes) ?? true;
  }

  /** Later input is ignored. */
  #drop(): void {
    this.#input.end();
    this.#incoming.close();
  }

  #onPing(payload: Buffer): void {
    this.#incoming.control(payload);
    if (this.#pinged === undefined) onNextTurn(() => this.#pong());
    this.#pinged = payload;
  }

  #pong(): void {
    const payload = this.#pinged;
    this.#pinged = undefined;
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#socket.bufferedAmount <= MAX_WAITING_BYTES) this.#socket.pong(payload);
  }

  #close(code: number, reason?: string): void {
    this.#ping.cancel();
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.close(code, reason);
    this.#drop();
    // A peer that does not answer the close must not keep the socket open.
    const timer = after(CLOSE_LIMIT_MS, () => this.#socket.terminate());
    this.#socket.once('close', () => timer.cancel());
  }

  #checkAlive(): void {
    // On many connections, even little that waits adds up over time.
    this.#unread.set(this.#socket.bufferedAmount);
    // A ping would wait behind a large message that is still being read; that progress is watched instead.
    if (this.#socket.bufferedAmount > MAX_WAITING_BYTES) return;
    // Pongs can't arrive while reading is paused.
    if (this.#input.isHeld) return;
    if (!this.#isAlive) {
      this.#socket.terminate();
      return;
    }
    this.#isAlive = false;
    this.#socket.ping();
  }
}

/** The size of one read. Its buffer lives as long as any message in it. */
const CHUNK_BYTES = 8 * 1024;

/** Copies a message, so that it does not keep a larger buffer in memory; a call may take long. */
function asBuffer(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  if (!Buffer.isBuffer(data)) return Buffer.from(data);
  return data.buffer.byteLength > data.length + CHUNK_BYTES ? Buffer.from(data) : data;
}
