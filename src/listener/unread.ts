// A large answer to a client that does not read: it waits in memory, so it is given up after a while
// (reliability.md F04). Small ones fit into the system's buffers and are gone.
import type { ServerResponse } from 'node:http';

/** How long a client may read nothing of what waits for it. */
export const MAX_STALL_MS = 30_000;

/**
 * Cuts the connection of a response that was ended and is not read. Reading any part of it counts.
 * @param slow told when it was cut
 */
export function cutIfUnread(response: ServerResponse, slow: () => void): void {
  const { socket } = response;
  if (socket === null || response.writableLength === 0) return;
  const cut = (): void => {
    slow();
    response.destroy();
  };
  socket.setTimeout(MAX_STALL_MS);
  socket.once('timeout', cut);
  response.once('close', () => socket.off('timeout', cut));
}
