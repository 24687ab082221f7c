// Counts the bytes of incomplete WebSocket messages as held for their client. While there is no room for the
// rest of a message, reading is paused.
import type { Socket } from 'node:net';
import { after, type Timer } from '../../base/clock.ts';
import { type FindOwner, HeldAmount, LARGE_HOLDING } from '../../base/held-bytes.ts';

/** The header of a ping or pong from a client (RFC 6455 5.2). */
const CONTROL_HEAD_BYTES = 6;
const RETRY_MS = 25;
/** How long a client may have to wait for room, in milliseconds. Then it is disconnected. */
const WAIT_LIMIT_MS = 30_000;

export interface IncomingContext {
  /** The client for which the bytes are held. */
  readonly owner: FindOwner;
  /** Limit for one message. */
  readonly maxBytes: number;
  /** Pauses or resumes reading. */
  hold(isHeld: boolean): void;
  /** There is no room for the message, so the client must reconnect. */
  refused(): void;
}

/** Counts the bytes of one connection. */
export class IncomingBytes {
  readonly #context: IncomingContext;
  readonly #tcp: Socket;
  /** Bytes of the incomplete message. */
  #bytes = 0;
  #room: HeldAmount | undefined;
  #waiting: Timer | undefined;

  constructor(tcp: Socket, context: IncomingContext) {
    this.#tcp = tcp;
    this.#context = context;
    // Runs before the listener that parses the data.
    tcp.prependListener('data', this.#came);
  }

  /** A ping or pong arrived; its bytes do not belong to the message. */
  control(payload: Buffer): void {
    this.#bytes = Math.max(this.#bytes - CONTROL_HEAD_BYTES - payload.length, 0);
  }

  /** A message is complete. What arrived of the next one is little. */
  whole(): void {
    this.#bytes = 0;
    this.#room?.release();
    this.#room = undefined;
  }

  close(): void {
    this.whole();
    this.#waiting?.cancel();
    this.#waiting = undefined;
    this.#tcp.off('data', this.#came);
  }

  readonly #came = (chunk: Buffer): void => {
    this.#bytes += chunk.length;
    if (this.#bytes <= LARGE_HOLDING || this.#room !== undefined) return;
    if (this.#waiting !== undefined || this.#takeRoom()) return;
    this.#context.hold(true);
    this.#wait(WAIT_LIMIT_MS);
  };

  /**
   * Reserves room for the largest size. If two clients reserved only what they have, both could wait for each
   * other for ever.
   */
  #takeRoom(): boolean {
    const { maxBytes, owner } = this.#context;
    if (!owner().hasRoom(maxBytes)) return false;
    this.#room = new HeldAmount(owner, 'body', () => this.#context.refused());
    this.#room.set(maxBytes);
    return true;
  }

  #wait(leftMs: number): void {
    this.#waiting = after(RETRY_MS, () => {
      this.#waiting = undefined;
      if (this.#takeRoom()) this.#context.hold(false);
      else if (leftMs > 0) this.#wait(leftMs - RETRY_MS);
      else this.#context.refused();
    });
  }
}
