// What Node's HTTP server keeps at a socket. It is not documented and has been stable for long; here
// is all of it that is relied upon.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface HttpSocket extends Socket {
  readonly parser?: HttpParser | null;
  /** The response that is being sent. */
  readonly _httpMessage?: ServerResponse | null;
  /** Whether the HTTP server has paused it, since too much waits for its client. */
  _paused?: boolean;
}

/** Where a parser keeps what it calls with a part of a body (`kOnBody` of Node's parser). */
export const ON_BODY = 3;
/** The same when it has worked off what was read (`kOnExecute`). */
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

/** Reads no more of a connection, whether or not somebody listens to its request, until `resumeReading`. */
export function pauseReading(socket: HttpSocket): void {
  socket._paused = true;
  socket.pause();
}

/** Reads on. */
export function resumeReading(socket: HttpSocket): void {
  socket._paused = false;
  if (socket.destroyed) return;
  socket.parser?.resume();
  socket.resume();
}

/** The response that is being sent, or made. */
export function responseOn(socket: HttpSocket): ServerResponse | undefined {
  return socket._httpMessage ?? undefined;
}
