// Server-sent events, outgoing: one JSON-RPC message per event on a single `data:` line (WHATWG
// HTML, server-sent events). JSON text has no raw line break once onOneLine() has seen it.
import { onOneLine } from './splice.ts';

const MESSAGE = 'event: message\ndata: ';
const MESSAGE_HEAD = Buffer.from(MESSAGE);
const END = Buffer.from('\n\n');

/** A message as an event without id: it can't be resumed behind. */
export function messageEvent(message: Buffer): Buffer {
  return Buffer.concat(messageEventParts([message]));
}

/** The same of a large message in parts, in parts. */
export function messageEventParts(message: readonly Buffer[]): Buffer[] {
  return [MESSAGE_HEAD, ...message.map(onOneLine), END];
}

/** A message as an event that a client can resume behind. */
export function resumableEvent(id: string, message: Buffer): Buffer {
  return Buffer.concat(resumableEventParts(id, [message]));
}

/** The same of a large message in parts, in parts. */
export function resumableEventParts(id: string, message: readonly Buffer[]): Buffer[] {
  return [Buffer.from(`id: ${id}\n${MESSAGE}`, 'latin1'), ...message.map(onOneLine), END];
}

/** How long a client should wait before it reconnects, in milliseconds. */
const RETRY_MS = 1_000;

/** An event that carries nothing but an id to resume behind, and when to do so (SEP-1699). */
export function primingEvent(id: string): Buffer {
  return Buffer.from(`id: ${id}\nretry: ${RETRY_MS}\ndata: \n\n`, 'latin1');
}

/** The first event of an HTTP+SSE stream: where to POST (2024-11-05 basic/transports). */
export function endpointEvent(uri: string): Buffer {
  return Buffer.from(`event: endpoint\ndata: ${uri}\n\n`);
}

/** A line that parsers skip; keeps proxies from cutting an idle stream. */
export function comment(text: string): Buffer {
  return Buffer.from(`: ${text}\n\n`, 'latin1');
}
