// The input of a WebSocket, processed in turns. The parser gets it in small pieces, and in one turn of the
// event loop only as much as the quotas of the connection, the client and all clients allow. Messages, pings
// and empty fragments all count. Messages that were parsed when the turn ended wait. Reading is paused
// meanwhile, and while it is held.
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { LEAST_COST, TurnQuota } from '../../base/turns.ts';
import { LARGE_TEXT, STEP_BYTES, TextWalk, walkedText } from '../../jsonrpc/text-walk.ts';
import { FrameHeads } from './frame-heads.ts';

/** What one connection may cost in a turn: 16 short messages. */
const TURN_OF_CONNECTION = 64 * LEAST_COST;
/** The cost of answering a message, in addition to its bytes. */
const MESSAGE_COST = 4 * LEAST_COST;
/** The limits of one piece for the parser, in bytes and frames. */
const PIECE_BYTES = 64 * 1024;
const PIECE_FRAMES = 32;
const NOTHING = Buffer.alloc(0);

/** The input of one WebSocket. */
export class TurnInput {
  readonly #tcp: Socket;
  readonly #parser: Pick<Writable, 'write' | 'writable'>;
  readonly #quota: TurnQuota;
  readonly #take: (message: Buffer) => boolean;
  /** Read, but not parsed yet. */
  #rest: Buffer = NOTHING;
  /** Parsed, but not taken yet. */
  readonly #messages: Buffer[] = [];
  #walk: TextWalk | undefined;
  readonly #heads = new FrameHeads();
  #holds = 0;
  #isWorking = false;
  #isWaiting = false;
  #isOver = false;

  /**
   * Takes over the input.
   * @param parser of frames; after it has ended, input is dropped
   * @param owner what the client may cost in a turn
   * @param take called with each message; false: not now, and it has called `hold`
   */
  constructor(
    tcp: Socket,
    parser: Pick<Writable, 'write' | 'writable'>,
    owner: TurnQuota,
    take: (message: Buffer) => boolean,
  ) {
    this.#tcp = tcp;
    this.#parser = parser;
    this.#quota = new TurnQuota(TURN_OF_CONNECTION, owner);
    this.#take = take;
    tcp.on('data', this.#onData);
  }

  /** Whether reading is paused. */
  get isHeld(): boolean {
    return this.#holds > 0;
  }

  /** Pauses or resumes reading. Calls are counted: two holds need two releases. */
  hold(isHeld: boolean): void {
    if (this.#isOver) return;
    this.#holds += isHeld ? 1 : -1;
    if (!isHeld) this.#work();
  }

  /** A message was parsed. */
  message(bytes: Buffer): void {
    if (this.#isOver) return;
    const isLater = this.#messages.length > 0 || this.isHeld || this.#quota.isSpent;
    if (isLater || bytes.length >= LARGE_TEXT) this.#messages.push(bytes);
    else this.#hand(bytes);
  }

  /** Later messages are ignored. Input is read only to see the peer's close frame. */
  end(): void {
    this.#isOver = true;
    this.#holds = 0;
    this.#messages.length = 0;
    this.#work();
  }

  /** The connection is closed. */
  close(): void {
    this.#isOver = true;
    this.#messages.length = 0;
    this.#rest = NOTHING;
    this.#tcp.off('data', this.#onData);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#work();
  };

  readonly #onTurn = (): void => {
    this.#isWaiting = false;
    this.#work();
  };

  #hand(bytes: Buffer): void {
    this.#quota.spend(MESSAGE_COST + bytes.length);
    if (!this.#take(bytes)) this.#messages.unshift(bytes);
  }

  #work(): void {
    // The parser may call `message` while it is given a piece.
    if (this.#isWorking) return;
    this.#isWorking = true;
    while (!this.isHeld && this.#hasInput && !this.#quota.isSpent) this.#step();
    this.#isWorking = false;
    if (this.isHeld || this.#hasInput) this.#tcp.pause();
    else if (this.#tcp.isPaused()) this.#tcp.resume();
    if (this.isHeld || !this.#hasInput || this.#isWaiting) return;
    this.#isWaiting = true;
    this.#quota.wait(this.#onTurn);
  }

  get #hasInput(): boolean {
    return this.#messages.length > 0 || this.#rest.length > 0;
  }

  #step(): void {
    const [message] = this.#messages;
    if (message === undefined) {
      this.#parse();
      return;
    }
    if (message.length >= LARGE_TEXT && !this.#isWalkedOver(message)) return;
    this.#messages.shift();
    this.#hand(message);
  }

  /** Continues to check the first message, which is large. @returns whether it was checked completely */
  #isWalkedOver(message: Buffer): boolean {
    if (walkedText(message) !== undefined) return true;
    if (this.#walk?.bytes !== message) this.#walk = new TextWalk(message);
    this.#quota.spend(STEP_BYTES);
    if (this.#walk.step()) this.#walk = undefined;
    return false;
  }

  #parse(): void {
    const rest = this.#rest;
    const piece = this.#heads.pieceOf(rest, PIECE_BYTES, PIECE_FRAMES);
    this.#rest = piece.length === rest.length ? NOTHING : rest.subarray(piece.length);
    this.#quota.spend(piece.length + this.#heads.frames * LEAST_COST);
    if (this.#parser.writable) this.#parser.write(piece);
  }
}
