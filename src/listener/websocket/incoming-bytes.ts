// What has come of a message on a WebSocket that is not whole yet. It counts as held for its client, and
// nothing more is read while there is no room for the rest.
import type { Socket } from 'node:net';
import { after, type Timer } from '../../base/clock.ts';
import { type FindOwner, HeldAmount, LARGE_HOLDING } from '../../base/held-bytes.ts';

/** Before the payload of a ping (RFC 6455 5.2). */
const CONTROL_HEAD_BYTES = 6;
const RETRY_MS = 25;
/** How long a client may be kept waiting, which makes no difference to one that keeps others so long. */
const WAIT_LIMIT_MS = 30_000;

export interface IncomingContext {
  /** Whose messages they are. */
  readonly owner: FindOwner;
  /** Of one message. */
  readonly maxBytes: number;
  /** Reads no more, or goes on. */
  hold(isHeld: boolean): void;
  /** There is no room for the message: the client has to come back. */
  refused(): void;
}

/** Counts what comes on one connection. */
export class IncomingBytes {
  readonly #context: IncomingContext;
  readonly #tcp: Socket;
  /** Bytes of the message that is not whole. */
  #bytes = 0;
  #room: HeldAmount | undefined;
  #waiting: Timer | undefined;

  constructor(tcp: Socket, context: IncomingContext) {
    this.#tcp = tcp;
    this.#context = context;
    // Before the message of which they are the last bytes is handed on.
    tcp.prependListener('data', this.#came);
  }

  /** A ping or pong came, which is none of the message. */
  control(payload: Buffer): void {
    this.#bytes = Math.max(this.#bytes - CONTROL_HEAD_BYTES - payload.length, 0);
  }

  /** A message is whole. What came of the next one with its last bytes is little. */
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

  /** For as much as it may become: two that wait for the last bytes of each other would wait for ever. */
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
