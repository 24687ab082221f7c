// A client that does not read what waits for it: it is held in memory, so it is given up after a while
// (reliability.md F04). Reading any part of it counts, however slowly: a socket's own timer is the only
// one that sees how far a large message has come.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How long a client may read nothing of what waits for it, at most. */
export const MAX_STALL_MS = 30_000;

/**
 * Watches a connection from now on.
 * @param waiting what waits for the client, in bytes
 * @param cut told, maybe again, when the client has read nothing of it for too long
 * @returns ends the watch
 */
export function watchUnread(socket: Socket, waiting: () => number, cut: () => void): () => void {
  const look = (): void => {
    if (waiting() > 0) cut();
  };
  // Its first look at a write that is under way only notes how far that has come.
  socket.setTimeout(MAX_STALL_MS / 2);
  socket.on('timeout', look);
  return () => socket.off('timeout', look);
}

/**
 * Cuts the connection of a response whose client does not read, if anything waits for it now.
 * @param slow told when it was cut
 */
export function cutIfUnread(response: ServerResponse, slow: () => void): void {
  const { socket } = response;
  if (socket === null || response.writableLength === 0) return;
  const end = watchUnread(
    socket,
    () => response.writableLength,
    () => {
      end();
      slow();
      response.destroy();
    },
  );
  response.once('close', end);
}
