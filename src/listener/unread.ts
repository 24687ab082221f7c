// A client that does not read the response that waits for it (reliability.md F04).
import type { ServerResponse } from 'node:http';
import { watchUnread } from '../base/unread.ts';

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
