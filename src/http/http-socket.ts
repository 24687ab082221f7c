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

interface HttpParser {
  onIncoming(request: IncomingMessage, keepAlive: boolean): number;
}

/** The response that is being sent, or made. */
export function responseOn(socket: HttpSocket): ServerResponse | undefined {
  return socket._httpMessage ?? undefined;
}
