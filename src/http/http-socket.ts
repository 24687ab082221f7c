// Properties of sockets and parsers that Node's HTTP server uses internally. They are not documented, but
// have been stable for long. No other file relies on them.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface HttpSocket extends Socket {
  readonly parser?: HttpParser | null;
  /** The response that is being sent. */
  readonly _httpMessage?: ServerResponse | null;
  /** Whether the HTTP server has paused it, because too much output waits for its client. */
  _paused?: boolean;
}

/** Where a parser has its callback for a part of a body (`kOnBody` of Node's parser). */
export const ON_BODY = 3;
/** Where a parser has its callback for the end of what was read (`kOnExecute`). */
export const ON_EXECUTE = 5;

export interface HttpParser {
  /** The latest request. */
  readonly incoming: IncomingMessage | null;
  onIncoming(request: IncomingMessage, keepAlive: boolean): number;
  [ON_BODY](part: Buffer): void;
  /** @param result bytes, or an error */
  [ON_EXECUTE](result: unknown): void;
  resume(): void;
}

/** Stops reading a connection until `resumeReading`, even if code listens to its request. */
export function pauseReading(socket: HttpSocket): void {
  socket._paused = true;
  socket.pause();
}

/** Continues reading. */
export function resumeReading(socket: HttpSocket): void {
  socket._paused = false;
  if (socket.destroyed) return;
  socket.parser?.resume();
  socket.resume();
}

/** The response that is being sent or prepared. */
export function responseOn(socket: HttpSocket): ServerResponse | undefined {
  return socket._httpMessage ?? undefined;
}
