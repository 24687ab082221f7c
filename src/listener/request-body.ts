// Reads the body of a request. It is limited, and takes hardly more memory than it has bytes, even if the
// client sends tiny chunks (docs/reliability.md#c06). Its bytes count as held for its principal.
import type { IncomingMessage } from 'node:http';
import { GatheredBytes } from '../base/gathered-bytes.ts';
import { HeldAmount, type HeldBytes, type HeldOwner, LARGE_HOLDING } from '../base/held-bytes.ts';
import { LARGE_TEXT, walkOver } from '../jsonrpc/text-walk.ts';
import type { Principal } from '../ports/principal.ts';

/** A body that can't be read; the client gets `statusCode`. */
export class BodyFailure extends Error {
  override readonly name = 'BodyFailure';
  readonly statusCode: number;

  constructor(statusCode: number, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}

export interface BodyLimits {
  /** For one body; a larger one fails with 413. */
  readonly maxBytes: number;
  /** For all bodies that are being received; undefined: limited only by the held bytes. */
  readonly allBytes?: number | undefined;
}

/** Called once: with the body, or with the reason why there is none. */
export type BodyTaker = (failure: BodyFailure | null, body?: Buffer) => void;

/** All bodies that are being received. */
export class RequestBodies {
  readonly #held: HeldBytes;
  readonly #maxBytes: number;
  #allBytes: number;

  constructor(held: HeldBytes, { maxBytes, allBytes }: BodyLimits) {
    this.#held = held;
    this.#maxBytes = maxBytes;
    this.#allBytes = allBytes ?? held.limitBytes;
  }

  /** From now on all bodies on their way may have so much; undefined: as much as may be held. */
  obey(allBytes: number | undefined): void {
    this.#allBytes = allBytes ?? this.#held.limitBytes;
  }

  /** Reads a body. One that is too large, or for which there is no room, is dropped at once. */
  read(request: IncomingMessage, principal: Principal, done: BodyTaker): void {
    const declared = Number(request.headers['content-length']);
    const owner = this.#held.client(principal);
    // A body of unknown length is counted as it grows.
    let counted = Number.isNaN(declared) ? Math.min(LARGE_HOLDING, this.#maxBytes) : declared;
    if (counted > this.#maxBytes || !this.#hasRoom(owner, counted)) {
      done(counted > this.#maxBytes ? tooLarge() : noRoom());
      return;
    }
    const bytes = new GatheredBytes(Number.isNaN(declared) ? undefined : declared);
    let isOver = false;
    const unwatch = (): void => {
      request.off('data', take).off('end', finish).off('error', fail).off('close', vanish);
    };
    const end = (failure: BodyFailure | null, body?: Buffer): void => {
      if (isOver) return;
      isOver = true;
      unwatch();
      room.release();
      done(failure, body);
    };
    const grow = (length: number): boolean => {
      const next = Math.min(2 * length, this.#maxBytes);
      if (!this.#hasRoom(owner, next - counted)) return false;
      counted = next;
      room.set(next);
      return true;
    };
    const take = (chunk: Buffer): void => {
      const length = bytes.length + chunk.length;
      if (length > this.#maxBytes) end(tooLarge());
      else if (length > counted && !grow(length)) end(noRoom());
      // A body in one chunk is copied, because the chunk is a view of a larger read buffer.
      else bytes.push(bytes.length === 0 ? Buffer.from(chunk) : chunk);
    };
    const finish = (): void => {
      const body = bytes.take();
      if (body.length < LARGE_TEXT) {
        end(null, body);
        return;
      }
      unwatch();
      void walkOver(body).then(() => end(null, body));
    };
    const fail = (error: Error): void => end(new BodyFailure(400, error.message));
    const vanish = (): void => fail(new Error('aborted'));
    const room = new HeldAmount(
      () => this.#held.client(principal),
      'body',
      () => end(noRoom()),
    );
    request.on('data', take).on('end', finish).on('error', fail).on('close', vanish);
    room.set(counted);
  }

  /** Whether so many more bytes may be received. */
  #hasRoom(owner: HeldOwner, bytes: number): boolean {
    return this.#held.byKind.body + bytes <= this.#allBytes && owner.hasRoom(bytes);
  }
}

function tooLarge(): BodyFailure {
  return new BodyFailure(413, 'Request body is too large');
}

function noRoom(): BodyFailure {
  return new BodyFailure(503, 'Too many bytes are held');
}
