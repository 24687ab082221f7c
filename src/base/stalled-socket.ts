// Detects peers that don't read. What waits for them is held in memory, so the connection is given up after a
// while. Reading any part of it counts as progress. Only the socket's own timer sees the progress within a
// large message.
import type { Socket } from 'node:net';

/** How long a peer may read nothing while data waits for it, by default. */
export const MAX_STALL_MS = 30_000;

/**
 * Watches a socket, or a pipe to a process.
 * @param waiting returns the bytes that wait for the peer
 * @param cut called, possibly several times, when the peer has read nothing for too long
 * @param stallMs how long that is at most, in milliseconds
 * @returns stops watching
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
  // The first timeout during a write only notes how far the write has come.
  socket.setTimeout(stallMs / 2);
  socket.on('timeout', look);
  return () => socket.off('timeout', look);
}
