// An open event stream on an HTTP response. What waits for a slow client is limited, and an idle stream is
// kept alive.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { HeldAmount } from '../base/held-bytes.ts';
import { MAX_STALL_MS } from '../base/stalled-socket.ts';
import { comment } from '../jsonrpc/sse-framing.ts';
import type { StreamWriter } from '../ports/stream-writer.ts';
import { type Reader, unreadBytesOf, watchResponse } from './slow-client.ts';

/** How many bytes may wait for a client before its stream is closed (docs/reliability.md#limits). */
const MAX_WAITING_BYTES = 1024 * 1024;

const KEEP_ALIVE = comment('keep-alive');

/** Called about a stream. */
export interface SseEvents extends Reader {
  /** The stream has ended, for whatever reason. Called once. */
  closed(writer: SseWriter): void;
}

/** One event stream. */
export class SseWriter implements StreamWriter {
  readonly #response: ServerResponse;
  readonly #events: SseEvents;
  readonly #unread: HeldAmount;
  #isClosed = false;
  #isWatched = false;
  #stalledAtMs: number | undefined;
  #stalledBytes = 0;
  #acknowledgedBytes = Number.NEGATIVE_INFINITY;
  #unheardSinceMs: number | undefined;

  /**
   * Sends the head of the response.
   * @param headers names and values, in addition to those of every event stream
   */
  constructor(response: ServerResponse, headers: Record<string, string>, events: SseEvents) {
    this.#response = response;
    this.#events = events;
    this.#unread = unreadBytesOf(events, () => this.#cut());
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      connection: 'keep-alive',
      'x-accel-buffering': 'no',
      ...headers,
    });
    response.flushHeaders();
    const isRead = (): void => this.#unread.release();
    response.on('drain', isRead).once('finish', isRead).once('close', isRead);
    response.once('close', () => this.#close());
    // If the client has disconnected already, no `close` event follows.
    if (response.destroyed) queueMicrotask(() => this.#close());
  }

  write(...parts: readonly Buffer[]): void {
    if (this.#isClosed) return;
    if (this.#response.writableLength > MAX_WAITING_BYTES) {
      this.#cut();
      return;
    }
    const [first] = parts;
    if (first !== undefined && parts.length === 1) this.#write(first);
    else this.#writeLarge(parts);
  }

  end(): void {
    if (this.#isClosed) return;
    this.#close();
    this.#response.end();
    // From now on nobody counts the last message, which may still wait.
    this.#unread.set(this.#response.writableLength);
    this.#watch();
  }

  /** Its socket; null when the stream is over. */
  get socket(): Socket | null {
    return this.#response.socket;
  }

  /**
   * Sends a comment, and disconnects a client that has read nothing for too long.
   * @param nowMs monotonic
   * @param unacknowledged bytes that the client's system has not acknowledged, as far as it is known
   */
  keepAlive(nowMs: number, unacknowledged: number): void {
    const waiting = this.#response.writableLength;
    // On many streams, even little that waits adds up over time.
    this.#unread.set(waiting);
    if (this.#isClosed) return;
    if (this.#isGone(nowMs, unacknowledged)) this.#cut();
    else if (waiting === 0) {
      this.#stalledAtMs = undefined;
      this.write(KEEP_ALIVE);
    } else if (waiting > MAX_WAITING_BYTES) {
      // A very large message can't be measured here: the watch on the socket sees its progress.
      this.#stalledAtMs = undefined;
    } else if (this.#stalledAtMs === undefined || waiting < this.#stalledBytes) {
      this.#stalledAtMs = nowMs;
      this.#stalledBytes = waiting;
    } else if (nowMs - this.#stalledAtMs >= MAX_STALL_MS) {
      this.#cut();
    }
  }

  /** A client that is still connected acknowledges something of its output, however slowly. */
  #isGone(nowMs: number, unacknowledged: number): boolean {
    const acknowledged = (this.socket?.bytesWritten ?? 0) - unacknowledged;
    if (unacknowledged === 0 || acknowledged > this.#acknowledgedBytes) {
      this.#acknowledgedBytes = acknowledged;
      this.#unheardSinceMs = undefined;
      return false;
    }
    this.#unheardSinceMs ??= nowMs;
    return nowMs - this.#unheardSinceMs >= MAX_STALL_MS;
  }

  #write(bytes: Buffer): void {
    // Small messages that the client reads at once cost nothing here.
    if (!this.#response.write(bytes)) this.#unread.set(this.#response.writableLength);
    // One message may be larger than the limit for all others.
    if (bytes.length > MAX_WAITING_BYTES) this.#watch();
  }

  #writeLarge(parts: readonly Buffer[]): void {
    this.#response.cork();
    for (const part of parts) this.#response.write(part);
    this.#response.uncork();
    this.#unread.set(this.#response.writableLength);
    this.#watch();
  }

  #watch(): void {
    if (this.#isWatched) return;
    this.#isWatched = true;
    watchResponse(this.#response, () => this.#cut());
  }

  #cut(): void {
    this.#events.slow();
    this.#close();
    this.#response.destroy();
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#events.closed(this);
  }
}
