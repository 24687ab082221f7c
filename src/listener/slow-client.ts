// Detects clients that don't read their response (docs/reliability.md#f04). Unsent output counts as held for
// the client.
import type { ServerResponse } from 'node:http';
import { HeldAmount, type HeldBytes } from '../base/held-bytes.ts';
import { watchStall } from '../base/stalled-socket.ts';
import type { Principal } from '../ports/principal.ts';

/** The client of a response. */
export interface Reader {
  readonly held: HeldBytes;
  readonly principal: Principal;
  /** Called when the client is disconnected because it does not read. */
  slow(): void;
}

/**
 * Watches the last output of a response. Disconnects the client if it does not read, or if too much is held.
 * Costs nothing if nothing waits.
 */
export function cutIfSlow(response: ServerResponse, reader: Reader): void {
  const waiting = response.writableLength;
  if (waiting === 0) return;
  const cut = (): void => {
    reader.slow();
    response.destroy();
  };
  const unread = unreadBytesOf(reader, cut);
  const isRead = (): void => unread.release();
  response.once('finish', isRead).once('close', isRead);
  watchResponse(response, cut);
  unread.set(waiting);
}

/** Counts the unsent output for a client. */
export function unreadBytesOf({ held, principal }: Reader, cut: () => void): HeldAmount {
  return new HeldAmount(() => held.client(principal), 'unread', cut);
}

/**
 * Watches a response until it is over, if output waits for its client.
 * @param cut called when the client has read nothing of it for too long
 */
export function watchResponse(response: ServerResponse, cut: () => void): void {
  const { socket } = response;
  if (socket === null || response.writableLength === 0) return;
  const end = watchStall(
    socket,
    () => response.writableLength,
    () => {
      end();
      cut();
    },
  );
  response.once('close', end);
}
