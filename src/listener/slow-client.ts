// A client that does not read the response that waits for it (docs/reliability.md#f04). What waits
// counts as held for the client.
import type { ServerResponse } from 'node:http';
import { HeldAmount, type HeldBytes } from '../base/held-bytes.ts';
import { watchStall } from '../base/stalled-socket.ts';
import type { Principal } from '../ports/principal.ts';

/** Whose response it is, and who is told. */
export interface Reader {
  readonly held: HeldBytes;
  readonly principal: Principal;
  /** It was cut off because it did not read. */
  slow(): void;
}

/**
 * Looks after the last that is sent on a response: cuts its connection if its client does not read, or if
 * too much is held. Costs nothing when nothing waits.
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

/** Where what waits for a reader counts. */
export function unreadBytesOf({ held, principal }: Reader, cut: () => void): HeldAmount {
  return new HeldAmount(() => held.client(principal), 'unread', cut);
}

/**
 * Watches a response until it is over, if anything waits for its client now.
 * @param cut told when the client has read nothing of it for too long
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
