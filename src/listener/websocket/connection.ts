// One WebSocket: a text frame is a message; pinged, so that a peer that vanished is noticed; bounded
// toward one that does not read (docs/protocol.md#websocket).
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
/** How long whoever sends too much is not read, at least: refusing costs too. */
const MIN_REST_MS = 250;

const UNSUPPORTED_DATA = 1003;
const GOING_AWAY = 1001;
/** The client is to connect again (https://www.iana.org/assignments/websocket). */
const SERVICE_RESTART = 1012;
const TRY_AGAIN_LATER = 1013;
const POLICY_VIOLATION = 1008;

export interface ConnectionContext {
  /** Whose it is, where what it holds counts. */
  readonly owner: FindOwner;
  /** What the client may cost in a turn of the event loop. */
  readonly turns: TurnQuota;
  /** Of one message. */
  readonly maxBytes: number;
  /** Whether the gateway stops. */
  readonly drain: Drain;
  /** Told when the peer is cut off because it did not read. */
  slow(): void;
  /** Told when the peer has to come back, since there was no room for its message. */
  refused(): void;
}

/** What is relied upon of `ws` that is not documented: its parser of frames. */
interface ParseState {
  readonly _receiver: Writable;
}

/** Where messages go. */
export interface MessageTaker {
  /** @returns false: not now, so the connection rests */
  receive(bytes: Buffer): boolean;
  close(): void;
}

/** An open socket as a transport of messages. */
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
  /** What the peer's latest ping said. Only that one is answered (RFC 6455 5.5.3). */
  #pinged: Buffer | undefined;

  /** @param tcp the connection that it is on */
  constructor(socket: WebSocket, tcp: Socket, context: ConnectionContext) {
    this.#socket = socket;
    this.#tcp = tcp;
    this.#context = context;
    this.#unread = new HeldAmount(context.owner, 'unread', () => this.#cut());
    tcp.on('drain', () => this.#unread.release());
    this.#ping = every(PING_MS, () => this.#checkAlive());
    // `ws` would parse at once all that is read.
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
    // It is closed with a status, and what still comes is read until the peer has seen that.
    socket.on('error', () => this.#drop());
    watchStall(
      tcp,
      () => socket.bufferedAmount,
      () => this.#cut(),
    );
  }

  /** Hands what arrives to the channel, until the socket is closed. */
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

  /** Reads no more, or goes on; held twice, it goes on when it was released twice. */
  hold(isHeld: boolean): void {
    this.#input.hold(isHeld);
  }

  /** Reads nothing for a while, since too much has come. */
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
    this.#close(TRY_AGAIN_LATER, 'too many bytes are held');
  }

  /** Its bytes count as a message on its way in until it is the taker's. */
  #take(bytes: Buffer): boolean {
    this.#incoming.whole();
    return this.#taker?.receive(bytes) ?? true;
  }

  /** Nothing that comes is a message any more. */
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
    // A peer that does not answer the close must not hold the socket.
    const timer = after(CLOSE_LIMIT_MS, () => this.#socket.terminate());
    this.#socket.once('close', () => timer.cancel());
  }

  #checkAlive(): void {
    // Little may wait for long, on many connections.
    this.#unread.set(this.#socket.bufferedAmount);
    // A ping would wait behind a large message that is being read, which is watched.
    if (this.#socket.bufferedAmount > MAX_WAITING_BYTES) return;
    // What the peer says is not read now.
    if (this.#input.isHeld) return;
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
