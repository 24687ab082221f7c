// Writes server-sent events (WHATWG HTML): one JSON-RPC message for each event, on a single `data:` line.
// After onOneLine(), JSON text has no line breaks.
import { onOneLine } from './splice.ts';

const MESSAGE = 'event: message\ndata: ';
const MESSAGE_HEAD = Buffer.from(MESSAGE);
const END = Buffer.from('\n\n');

/** Larger events stay in parts: to join 12 MB takes 130 ms. */
const JOINED_BYTES = 64 * 1024;

/**
 * A message as an event without id: it can't be resumed behind.
 * @param message its parts
 * @returns the parts of the event: one, unless it is large
 */
export function messageEvent(...message: readonly Buffer[]): readonly Buffer[] {
  return eventOf(MESSAGE_HEAD, message);
}

/** The same as an event that a client can resume behind. */
export function resumableEvent(id: string, ...message: readonly Buffer[]): readonly Buffer[] {
  return eventOf(Buffer.from(`id: ${id}\n${MESSAGE}`, 'latin1'), message);
}

function eventOf(head: Buffer, message: readonly Buffer[]): readonly Buffer[] {
  let bytes = head.length + END.length;
  for (const part of message) bytes += part.length;
  const parts = [head, ...message.map(onOneLine), END];
  return bytes <= JOINED_BYTES ? [Buffer.concat(parts, bytes)] : parts;
}

/** How long a client should wait before it reconnects, in milliseconds. */
const RETRY_MS = 1_000;

/** An event with only an id to resume after, and the time to wait before that (SEP-1699). */
export function primingEvent(id: string): Buffer {
  return Buffer.from(`id: ${id}\nretry: ${RETRY_MS}\ndata: \n\n`, 'latin1');
}

/** The first event of an HTTP+SSE stream: where to POST (2024-11-05 basic/transports). */
export function endpointEvent(uri: string): Buffer {
  return Buffer.from(`event: endpoint\ndata: ${uri}\n\n`);
}

/** A comment, which parsers skip. It keeps proxies from closing an idle stream. */
export function comment(text: string): Buffer {
  return Buffer.from(`: ${text}\n\n`, 'latin1');
}
