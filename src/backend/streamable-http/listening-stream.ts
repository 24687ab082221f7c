// The GET stream of a session: what the server says outside any call (2025-11-25 basic/transports).
// Opened again when it ends, with growing pauses, behind the last event that came.
import { monotonicMs, pause } from '../../base/clock.ts';
import type { Logger } from '../../observe/logger.ts';
import { readEvents, reconnectMs, type StreamPosition, type StreamTaker } from './answer-body.ts';
import { type HttpEndpoint, HttpFailure } from './http-endpoint.ts';

const BACKOFF = { floorMs: 1_000, firstMs: 1_000, capMs: 30_000 };
/** A stream that held for so long did well: the next pause is short again. */
const HELD_MS = 10_000;

export interface ListeningContext {
  readonly endpoint: HttpEndpoint;
  readonly maxBytes: number;
  readonly logger: Logger;
  readonly taker: StreamTaker;
  /** The headers of the session. */
  headers(): Readonly<Record<string, string>>;
  /** The server does not know the session any more, or is gone. */
  lost(reason: string): void;
}

/** One session's listening stream. */
export class ListeningStream {
  readonly #context: ListeningContext;
  readonly #abort = new AbortController();
  readonly #position: StreamPosition = { lastId: undefined, retryMs: undefined };
  #wasOpen = false;
  #failures = 0;

  constructor(context: ListeningContext) {
    this.#context = context;
    void this.#run();
  }

  close(): void {
    this.#abort.abort();
  }

  async #run(): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      const openedMs = monotonicMs();
      if (!(await this.#listen())) return;
      this.#failures = monotonicMs() - openedMs >= HELD_MS ? 1 : this.#failures + 1;
      const waitMs = reconnectMs(this.#position, this.#failures, BACKOFF);
      if (!(await pause(waitMs, signal))) return;
    }
  }

  /** @returns whether to try again */
  async #listen(): Promise<boolean> {
    const { endpoint, maxBytes, taker, headers, lost, logger } = this.#context;
    const { signal } = this.#abort;
    const { lastId } = this.#position;
    const resume = lastId === undefined ? {} : { 'last-event-id': lastId };
    try {
      const answer = await endpoint.request({
        method: 'GET',
        headers: { accept: 'text/event-stream', ...headers(), ...resume },
        signal,
        headMs: 0,
      });
      const isStream = answer.status === 200 && answer.type === 'text/event-stream';
      if (!isStream) {
        answer.discard();
        logger.debug({ status: answer.status }, 'server has no listening stream');
        if (answer.status === 404 && this.#wasOpen) lost('session_lost');
        return this.#wasOpen && answer.status !== 404 && answer.status !== 405;
      }
      this.#wasOpen = true;
      await readEvents(answer.body, maxBytes, this.#position, taker);
    } catch (error) {
      if (signal.aborted) return false;
      if (error instanceof HttpFailure && error.isUnreachable) {
        lost('unreachable');
        return false;
      }
    }
    return true;
  }
}
