// How much of the bodies of a client is read in a turn of the event loop. A body of known length is read until
// the turn of its client is over. One in chunks may have ten thousand of them in a single read: no read is
// made that was not paid for, and who sends such chunks is read rarely.
import type { IncomingMessage } from 'node:http';
import { after, monotonicMs } from '../base/clock.ts';
import { type TurnQuota, turnFor } from '../base/turns.ts';
import { CHUNKS_COST, REQUEST_COST } from './client-turns.ts';
import {
  type HttpParser,
  type HttpSocket,
  ON_BODY,
  ON_EXECUTE,
  pauseReading,
  resumeReading,
} from './http-socket.ts';
import type { Connection } from './open-sockets.ts';

const TRANSFER_ENCODING = 'transfer-encoding';
/**
 * More parts of a body in one read are an attack, or a client that writes byte by byte. Its bodies in chunks
 * are then not read for a hundred times as long as these took, so that others hardly notice.
 */
const MANY_PARTS = 1_000;
const REST_FOR_PART_MS = 0.25;

/** Node's own function for parts of a body, of parsers: one connection has them after the other. */
const onBodies = new WeakMap<HttpParser, HttpParser[typeof ON_BODY]>();

/** The bodies of all connections of a server. */
export class BodyTurns {
  /** Until when no more of the bodies in chunks of a client is read. */
  readonly #rests = new WeakMap<TurnQuota, number>();

  /** Bounds what is read of a connection that a parser reads by itself. */
  watch(connection: Connection, parser: HttpParser): void {
    const onExecute = parser[ON_EXECUTE];
    const onBody = onBodies.get(parser) ?? parser[ON_BODY];
    onBodies.set(parser, onBody);
    parser[ON_BODY] = (part) => {
      connection.parts++;
      onBody.call(parser, part);
    };
    parser[ON_EXECUTE] = (result) => {
      onExecute.call(parser, result);
      this.#readOnInTurn(connection);
    };
  }

  /** The same where a parser gets by events what was read, as on a connection that was given back to it. */
  watchData(connection: Connection): void {
    connection.onData = () => this.#readOnInTurn(connection);
    connection.socket.on('data', connection.onData);
  }

  /**
   * Whether a request may be taken now. What was read with its head is read already, and is paid for here.
   * @returns false when its body comes in chunks, and its client has had its turn
   */
  mayBegin(connection: Connection, request: IncomingMessage): boolean {
    const { paid, quota } = connection;
    if (paid > 0 || !isInChunks(request)) return true;
    connection.restsUntilMs = Math.max(connection.restsUntilMs, this.#rests.get(quota) ?? 0);
    if (quota.isSpent || connection.restsUntilMs > monotonicMs()) return false;
    quota.spend(CHUNKS_COST);
    return true;
  }

  /** Reads the next part of a body when there is something left of a turn. */
  #readOnInTurn(connection: Connection): void {
    const { parts, quota, isDetached } = connection;
    const socket: HttpSocket = connection.socket;
    connection.parts = 0;
    const request = socket.parser?.incoming ?? undefined;
    if (request === undefined || request.complete || isDetached || socket.destroyed) return;
    if (isInChunks(request)) {
      // Many parts are read in one go, unless reading stops after each.
      pauseReading(socket);
      const readOn = (): void => quota.wait(() => resumeReading(socket), CHUNKS_COST);
      const restMs = this.#restMs(connection, parts);
      if (restMs > 0) after(restMs, readOn);
      else readOn();
      return;
    }
    const turn = turnFor(quota, REQUEST_COST);
    if (turn === undefined) return;
    pauseReading(socket);
    void turn.then(() => resumeReading(socket));
  }

  /**
   * How long no more of a body in chunks is read: of one after the other, where a client has many. Strangers of
   * one address do not wait for each other.
   */
  #restMs({ quota, addressQuota }: Connection, parts: number): number {
    if (quota === addressQuota) return 0;
    const nowMs = monotonicMs();
    const fromMs = Math.max(this.#rests.get(quota) ?? 0, nowMs);
    if (parts > MANY_PARTS) this.#rests.set(quota, fromMs + parts * REST_FOR_PART_MS);
    return (this.#rests.get(quota) ?? 0) - nowMs;
  }
}

/** Whether nobody knows how long the body of a request is, nor in how many parts it comes. */
export function isInChunks({ rawHeaders }: IncomingMessage): boolean {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length !== TRANSFER_ENCODING.length) continue;
    if (name.toLowerCase() === TRANSFER_ENCODING) return true;
  }
  return false;
}
