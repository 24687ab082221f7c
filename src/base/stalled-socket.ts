// Whoever does not read what waits for it has it held in memory, so it is given up after a while.
// Reading any part of it counts, however slowly: a socket's own timer is the only one that sees how
// far a large message has come.
import type { Socket } from 'node:net';

/** How long a peer may read nothing of what waits for it, at most, unless said otherwise. */
export const MAX_STALL_MS = 30_000;

/**
 * Watches a socket, or a pipe to a process, from now on.
 * @param waiting what waits for the peer, in bytes
 * @param cut told, maybe again, when the peer has read nothing of it for too long
 * @param stallMs how long that is, at most
 * @returns ends the watch
 */
export function watchStall(
  socket: Socket,
  waiting: () => number,
  cut: () => void,
  stallMs = MAX_STALL_MS,
): () => void {
  const look = (): void => {
    if (waiting() > 0) cut();
  };
  // Its first look at a write that is under way only notes how far that has come.
  socket.setTimeout(stallMs / 2);
  socket.on('timeout', look);
  return () => socket.off('timeout', look);
}
