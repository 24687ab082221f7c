// Heads of requests that have not come whole yet. Node keeps what it has read of them, without a limit
// on all connections together: a stranger with a few thousand connections could use up the heap. So they count as held
// bytes of their client, and a connection for whose head there is no room is closed.
import { HeldAmount, type HeldBytes } from '../base/held-bytes.ts';
import { type HttpParser, type HttpSocket, ON_EXECUTE } from './http-socket.ts';
import type { Connection } from './open-sockets.ts';

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

  /** A head has come whole. */
  finish(connection: Connection): void {
    connection.hasReadHead = true;
    const { head } = connection;
    if (head === undefined) return;
    connection.head = undefined;
    head.held.release();
  }

  /** So many bytes were read of a connection. */
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
    const more = BYTES_PER_BYTE * bytes;
    if (!this.#held.client(connection.client).hasRoom(more)) {
      socket.destroy();
      return;
    }
    head.bytes += more;
    head.held.set(head.bytes);
  }

  #begin(connection: Connection): NonNullable<Connection['head']> {
    const { client, socket } = connection;
    const held = new HeldAmount(
      () => this.#held.client(client),
      'body',
      () => socket.destroy(),
    );
    socket.once('close', () => this.finish(connection));
    return { held, bytes: 0 };
  }
}
