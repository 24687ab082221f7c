// Heads of requests that are not complete yet. Node keeps what it has read of them, without a limit for all
// connections together, so a client without a key could use up the heap. Here they count as held bytes of
// their client. A connection whose head has no room is closed.
import { HeldAmount, type HeldBytes } from '../base/held-bytes.ts';
import { type HttpParser, type HttpSocket, ON_EXECUTE } from './http-socket.ts';
import type { Connection, UnfinishedHead } from './open-sockets.ts';

/**
 * What a byte of a head takes in memory at most: a header of seven bytes becomes two strings and their places in
 * a list, about 64 bytes.
 */
const BYTES_PER_BYTE = 9;

/** The unfinished heads of all connections of a server. */
export class UnfinishedHeads {
  readonly #held: HeldBytes;

  /** @param held where they are counted */
  constructor(held: HeldBytes) {
    this.#held = held;
  }

  /** Counts what is read of a connection whose socket the parser reads directly. */
  watch(connection: Connection, parser: HttpParser): void {
    const onExecute = parser[ON_EXECUTE];
    parser[ON_EXECUTE] = (result) => {
      onExecute.call(parser, result);
      if (typeof result === 'number') this.read(connection, result);
    };
  }

  /** A head is complete. */
  finish(connection: Connection): void {
    connection.hasReadHead = true;
    const { head } = connection;
    if (head === undefined || head.bytes === 0) return;
    head.bytes = 0;
    head.held.release();
  }

  /** So many bytes were read from a connection. */
  read(connection: Connection, bytes: number): void {
    const { hasReadHead, isInBody, isDetached, isUpgraded } = connection;
    const socket: HttpSocket = connection.socket;
    connection.hasReadHead = false;
    connection.isInBody = socket.parser?.incoming?.complete === false;
    // What follows a head or a body in one read is so little of the next head that it can be neglected.
    if (hasReadHead || isInBody || connection.isInBody) return;
    if (isDetached || isUpgraded || socket.destroyed) return;
    connection.head ??= this.#begin(connection);
    const { head } = connection;
    // The client of the connection may change before this head is complete.
    if (head.bytes === 0) head.client = connection.client;
    const more = BYTES_PER_BYTE * bytes;
    if (!this.#held.client(head.client).hasRoom(more)) {
      socket.destroy();
      return;
    }
    head.bytes += more;
    head.held.set(head.bytes);
  }

  /** Once for each connection, since a client may send many heads in several parts. */
  #begin(connection: Connection): UnfinishedHead {
    const { socket } = connection;
    const head: UnfinishedHead = {
      client: connection.client,
      bytes: 0,
      held: new HeldAmount(
        () => this.#held.client(head.client),
        'body',
        () => socket.destroy(),
      ),
    };
    socket.once('close', () => this.finish(connection));
    return head;
  }
}
