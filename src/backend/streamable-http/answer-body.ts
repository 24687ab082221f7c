// The body of an answer, bounded: one JSON text, or the events of a stream.
import { GatheredBytes } from '../../base/gathered-bytes.ts';
import { type SseEvent, SseParser } from '../../jsonrpc/sse-parsing.ts';

/**
 * Reads a whole body.
 * @returns undefined when it is larger than `maxBytes`; the rest is not read then
 * @throws when the connection breaks off
 */
export async function collect(
  body: AsyncIterable<Buffer>,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const bytes = new GatheredBytes();
  for await (const chunk of body) {
    if (bytes.length + chunk.length > maxBytes) return undefined;
    bytes.push(chunk);
  }
  return bytes.take();
}

/** Where a stream stands. */
export interface StreamPosition {
  /** Of the last event that had one; what a server may resume behind. */
  lastId: string | undefined;
  /** How long the server wants to be left alone, in milliseconds. */
  retryMs: number | undefined;
}

/** Who takes what comes on a stream. */
export interface StreamTaker {
  message(bytes: Buffer): void;
  oversize(head: Buffer, tail: Buffer, length: number): void;
  /** An event of another type than `message`. */
  other?(event: SseEvent): void;
}

/**
 * Hands the messages of a stream on until it ends.
 * @param position is kept up to date
 * @returns whether it ended in order; false when it broke off
 */
export async function readEvents(
  body: AsyncIterable<Buffer>,
  maxBytes: number,
  position: StreamPosition,
  taker: StreamTaker,
): Promise<boolean> {
  const parser = new SseParser(maxBytes, {
    event: (event) => {
      // Behind an empty id nothing can be resumed.
      if (event.id !== undefined) position.lastId = event.id === '' ? undefined : event.id;
      if (event.retryMs !== undefined) position.retryMs = event.retryMs;
      if (event.type !== 'message') taker.other?.(event);
      else if (event.data !== undefined && event.data.length > 0) taker.message(event.data);
    },
    oversize: (head, tail, length) => taker.oversize(head, tail, length),
  });
  try {
    for await (const chunk of body) parser.push(chunk);
    return true;
  } catch {
    return false; // reset, or ended by us
  }
}
