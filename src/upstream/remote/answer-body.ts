// The body of an answer, limited in size: one JSON text, or the events of a stream.
import { type BackoffOptions, backoffMs } from '../../base/backoff.ts';
import { GatheredBytes } from '../../base/gathered-bytes.ts';
import { type FindOwner, HeldAmount } from '../../base/held-bytes.ts';
import { isTextWithin, TEXT_LIMITS } from '../../base/text-limits.ts';
import { onNextTurn, type TurnQuota } from '../../base/turns.ts';
import { type SseEvent, SseParser } from '../../jsonrpc/sse-parsing.ts';
import { LARGE_TEXT, walkOver } from '../../jsonrpc/text-walk.ts';
import type { RequestFailure } from '../../ports/channel.ts';
import { HttpFailure } from '../credentials/http-failure.ts';

/** Less than this is not counted while it arrives. */
const SMALL_BYTES = 8 * 1024;

/** What arrives from a server, and how much of it is read in a turn. */
export interface Body {
  readonly body: AsyncIterable<Buffer>;
  readonly quota: TurnQuota;
  /** Counts the bytes that arrived. */
  readonly owner: FindOwner;
}

/** The bytes of an incomplete message. Costs nothing while there are few. */
class ArrivingBytes {
  readonly #owner: FindOwner;
  readonly #cut: () => void;
  #held: HeldAmount | undefined;

  constructor(owner: FindOwner, cut: () => void) {
    this.#owner = owner;
    this.#cut = cut;
  }

  set(bytes: number): void {
    if (this.#held === undefined && bytes <= SMALL_BYTES) return;
    this.#held ??= new HeldAmount(this.#owner, 'from_server', this.#cut);
    this.#held.set(bytes);
  }

  release(): void {
    this.#held?.release();
  }
}

/** There was no room to keep the request or its answer. */
export const NO_ROOM: RequestFailure = {
  reason: 'overloaded',
  outcome: 'unknown',
  what: 'may have run the request, but there was no room for the request or its answer (limits.heldBytes); try again later.',
};

/**
 * Reads a whole body.
 * @returns undefined if it is larger than `maxBytes`; the rest is not read then
 * @throws HttpFailure if there is no room for it
 * @throws if the connection breaks
 */
export async function collect(
  { body, quota, owner }: Body,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const bytes = new GatheredBytes();
  let isCut = false;
  const arriving = new ArrivingBytes(owner, () => {
    isCut = true;
    bytes.clear();
  });
  try {
    for await (const chunk of body) {
      if (bytes.length + chunk.length > maxBytes) return undefined;
      bytes.push(chunk);
      arriving.set(bytes.length);
      quota.spend(chunk.length);
      if (quota.isSpent) await untilAllowed(quota);
      if (isCut) throw new HttpFailure(NO_ROOM);
    }
    const whole = bytes.take();
    await walkOver(whole);
    if (isCut) throw new HttpFailure(NO_ROOM);
    return whole;
  } finally {
    arriving.release();
  }
}

async function untilAllowed(quota: TurnQuota): Promise<void> {
  while (quota.isSpent) {
    await new Promise<void>((resolve) => {
      onNextTurn(resolve);
    });
  }
}

/** The position in a stream. */
export interface StreamPosition {
  /** The last event id, after which the stream can be resumed. */
  lastId: string | undefined;
  /** The server's reconnection time, in milliseconds. */
  retryMs: number | undefined;
}

/**
 * How long to wait before a stream is opened again: as the server says, within limits. Otherwise a server
 * that says 0 and ends each stream at once would be called without pause.
 * @param failures in a row so far, from 1; used if the server said nothing
 * @returns milliseconds
 */
export function reconnectMs(
  { retryMs }: StreamPosition,
  failures: number,
  backoff: BackoffOptions & { readonly floorMs: number },
): number {
  const { floorMs, capMs } = backoff;
  if (retryMs === undefined) return backoffMs(failures, backoff);
  return Math.min(Math.max(retryMs, floorMs), capMs);
}

function isEventId(id: string): boolean {
  return (
    isTextWithin(id, TEXT_LIMITS.eventId) && /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(id)
  );
}

/** Gets what arrives on a stream. */
export interface StreamTaker {
  message(bytes: Buffer): void;
  oversize(head: Buffer, tail: Buffer, length: number, isForRoom: boolean): void;
  /** An event of another type than `message`. */
  other?(event: SseEvent): void;
}

/**
 * Passes on the messages of a stream until it ends.
 * @param position is updated
 * @returns whether it ended regularly; false if it broke
 */
export async function readEvents(
  { body, quota, owner }: Body,
  maxBytes: number,
  position: StreamPosition,
  taker: StreamTaker,
): Promise<boolean> {
  /** A message that is checked in steps before it is passed on; meanwhile nothing is read. */
  let large: Buffer | undefined;
  const turn = {
    get isSpent() {
      return large !== undefined || quota.isSpent;
    },
    spend: (bytes: number) => quota.spend(bytes),
  };
  const parser = new SseParser(maxBytes, {
    event: (event) => {
      // A stream can't be resumed after an empty id, or after one that is not valid in a header.
      if (event.id !== undefined) position.lastId = isEventId(event.id) ? event.id : undefined;
      if (event.retryMs !== undefined) position.retryMs = event.retryMs;
      if (event.type !== 'message') taker.other?.(event);
      else if (event.data !== undefined && event.data.length >= LARGE_TEXT) large = event.data;
      else if (event.data !== undefined && event.data.length > 0) taker.message(event.data);
    },
    oversize: (...dropped) => taker.oversize(...dropped),
  });
  const arriving = new ArrivingBytes(owner, () => parser.drop());
  try {
    for await (const chunk of body) {
      let read = parser.push(chunk, 0, turn);
      while (read < chunk.length || large !== undefined) {
        if (large !== undefined) {
          arriving.set(large.length + parser.heldBytes);
          await walkOver(large);
          const message = large;
          large = undefined;
          taker.message(message);
        }
        await untilAllowed(quota);
        if (read < chunk.length) read = parser.push(chunk, read, turn);
      }
      arriving.set(parser.heldBytes);
      if (quota.isSpent) await untilAllowed(quota);
    }
    return true;
  } catch {
    return false; // reset by the server, or ended by the gateway
  } finally {
    arriving.release();
  }
}
