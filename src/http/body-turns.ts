// Limits how much of a client's request bodies is read in one turn of the event loop. A body with a
// Content-Length is read until the client's quota for the turn is used up. A chunked body (RFC 9112 7.1) may
// have ten thousand chunks in one read, so each read of it takes a whole turn of its client, and a client that
// sends tiny chunks is paused for longer.
import type { IncomingMessage } from 'node:http';
import { after, monotonicMs } from '../base/clock.ts';
import type { TurnQuota } from '../base/turns.ts';
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
 * More chunks than this in one read come from an attack, or from a client that writes byte by byte. Its chunked
 * bodies are then paused for about a hundred times as long as the read took, so that other clients are not slowed.
 */
const MANY_PARTS = 1_000;
const REST_FOR_PART_MS = 0.25;

/** Node's own body callback of each parser. Node uses a parser again for other connections. */
const onBodies = new WeakMap<HttpParser, HttpParser[typeof ON_BODY]>();

/** The bodies of all connections of a server. */
export class BodyTurns {
  /** Until when the chunked bodies of a client are paused, by the monotonic clock. */
  readonly #rests = new WeakMap<TurnQuota, number>();

  /** Limits a connection whose socket the parser reads directly. */
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
      // With TLS more comes, of what is decrypted already. Node would pause the parser, which then fails.
      if (connection.isBodyPaused) parser.resume();
      else this.#readOnInTurn(connection);
    };
  }

  /**
   * Limits a connection whose parser gets `data` events, as after the connection was given back to the server.
   * @param read told how many bytes were read
   */
  watchData(connection: Connection, read: (bytes: number) => void): void {
    connection.onData = (chunk) => {
      this.#readOnInTurn(connection);
      read(chunk.length);
    };
    connection.socket.on('data', connection.onData);
  }

  /**
   * Whether a request may be accepted now. Counts the part of a chunked body that was read with the head.
   * @returns false when the body is chunked and the quota of its client is used up, or the client is paused
   */
  mayBegin(connection: Connection, request: IncomingMessage): boolean {
    const { paid, quota } = connection;
    connection.isInChunks = isInChunks(request);
    if (paid > 0 || !connection.isInChunks) return true;
    connection.restsUntilMs = Math.max(connection.restsUntilMs, this.#rests.get(quota) ?? 0);
    if (quota.isSpent || connection.restsUntilMs > monotonicMs()) return false;
    quota.spend(CHUNKS_COST);
    return true;
  }

  /** Reads the next part of a body when there is something left of a turn. */
  #readOnInTurn(connection: Connection): void {
    const { parts, quota, isDetached, isInChunks } = connection;
    const socket: HttpSocket = connection.socket;
    connection.parts = 0;
    const request = socket.parser?.incoming ?? undefined;
    if (request === undefined || request.complete || isDetached || socket.destroyed) return;
    if (!isInChunks && !quota.isSpent) {
      quota.spend(REQUEST_COST);
      return;
    }
    // libuv reads up to 32 times in a row unless reading stops after each read.
    pauseReading(socket);
    connection.isBodyPaused = true;
    const resume = (): void => {
      connection.isBodyPaused = false;
      resumeReading(socket);
    };
    const cost = isInChunks ? CHUNKS_COST : REQUEST_COST;
    const readOn = (): void => quota.wait(resume, cost);
    const restMs = isInChunks ? this.#restMs(connection, parts) : 0;
    if (restMs > 0) after(restMs, readOn);
    else readOn();
  }

  /**
   * How long to pause a chunked body, in milliseconds. The pauses of one client add up over its connections. Clients
   * that are known only by their address are not paused: many may share it.
   */
  #restMs({ quota, addressQuota }: Connection, parts: number): number {
    if (quota === addressQuota) return 0;
    const nowMs = monotonicMs();
    const fromMs = Math.max(this.#rests.get(quota) ?? 0, nowMs);
    if (parts > MANY_PARTS) this.#rests.set(quota, fromMs + parts * REST_FOR_PART_MS);
    return (this.#rests.get(quota) ?? 0) - nowMs;
  }
}

/** Whether the body of a request has a transfer coding, so that its length is not known (RFC 9112 6.1). */
function isInChunks({ rawHeaders }: IncomingMessage): boolean {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length !== TRANSFER_ENCODING.length) continue;
    if (name.toLowerCase() === TRANSFER_ENCODING) return true;
  }
  return false;
}
