// The GET stream of a session: messages of the server outside of calls (2025-11-25 basic/transports). When it
// ends or is refused, it is opened again with growing pauses, after the last event.
import { monotonicMs, pause } from '../../base/clock.ts';
import { HttpFailure } from '../credentials/http-failure.ts';
import {
  readEvents,
  reconnectMs,
  type StreamPosition,
  type StreamTaker,
} from '../remote/answer-body.ts';
import type { HttpAnswer } from '../remote/http-endpoint.ts';
import { type HttpRefusal, refusalOf } from '../remote/refusals.ts';
import type { HttpLink } from './link.ts';

const BACKOFF = { floorMs: 1_000, firstMs: 1_000, capMs: 30_000 };
/** A stream that stayed open for so long was fine, so the next pause is short again. */
const HELD_MS = 10_000;
/** The only status that means that a server has no such stream. */
const METHOD_NOT_ALLOWED = 405;
const MAX_REFUSAL_BYTES = 64 * 1024;

/** Gets what arrives on it. */
export interface ListeningTaker extends StreamTaker {
  /** The server refused the stream. @returns whether it did because it does not know the session */
  refused(refusal: HttpRefusal, wasOpen: boolean): Promise<boolean>;
  /** Nothing answers at the address any more. */
  unreachable(): void;
}

/** One session's listening stream. */
export class ListeningStream {
  readonly #link: HttpLink;
  readonly #taker: ListeningTaker;
  readonly #abort = new AbortController();
  readonly #position: StreamPosition = { lastId: undefined, retryMs: undefined };
  #wasOpen = false;
  #isRefused = false;
  #failures = 0;

  constructor(link: HttpLink, taker: ListeningTaker) {
    this.#link = link;
    this.#taker = taker;
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
      const { retryAfterMs = 0 } = this.#link.endpoint.quiet() ?? {};
      const waitMs = Math.max(reconnectMs(this.#position, this.#failures, BACKOFF), retryAfterMs);
      if (!(await pause(waitMs, signal))) return;
    }
  }

  /** @returns whether to try again */
  async #listen(): Promise<boolean> {
    const { endpoint, maxBytes, sessionHeaders } = this.#link;
    const { signal } = this.#abort;
    const { lastId } = this.#position;
    const resume = lastId === undefined ? {} : { 'last-event-id': lastId };
    try {
      const answer = await endpoint.request({
        method: 'GET',
        headers: { accept: 'text/event-stream', ...sessionHeaders, ...resume },
        signal,
        headMs: 0,
      });
      if (answer.status !== 200 || answer.type !== 'text/event-stream') {
        return await this.#onRefused(answer);
      }
      this.#onOpen();
      await readEvents(answer, maxBytes, this.#position, this.#taker);
    } catch (error) {
      if (signal.aborted) return false;
      if (error instanceof HttpFailure && error.isUnreachable) {
        this.#taker.unreachable();
        return false;
      }
    }
    return true;
  }

  #onOpen(): void {
    if (this.#isRefused) this.#link.logger.info('server accepts the listening stream now');
    this.#isRefused = false;
    this.#wasOpen = true;
  }

  async #onRefused(answer: HttpAnswer): Promise<boolean> {
    const { logger } = this.#link;
    const { status } = answer;
    if (status === METHOD_NOT_ALLOWED) {
      answer.discard();
      logger.debug('server has no listening stream');
      return false;
    }
    const refusal = await refusalOf(answer, undefined, MAX_REFUSAL_BYTES);
    if (this.#abort.signal.aborted || (await this.#taker.refused(refusal, this.#wasOpen)))
      return false;
    if (!this.#isRefused) {
      const what = 'server refuses its listening stream, it is asked again; changes may be missed';
      logger.warn({ status }, what);
    }
    this.#isRefused = true;
    return true;
  }
}
