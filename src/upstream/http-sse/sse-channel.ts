// A remote server over HTTP+SSE (2024-11-05 basic/transports): one stream for everything from the server,
// which first names the URL for messages to it.
import type { FindOwner } from '../../base/held-bytes.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { integerId } from '../../jsonrpc/id.ts';
import { parseResult } from '../../jsonrpc/parse.ts';
import { scan } from '../../jsonrpc/scan.ts';
import type { SseEvent } from '../../jsonrpc/sse-parsing.ts';
import { INITIALIZE } from '../../mcp/methods.ts';
import { DISCOVER } from '../../mcp/modern-methods.ts';
import type { Logger } from '../../observe/logger.ts';
import type { ChannelEvents, RequestFailure, ServerChannel } from '../../ports/channel.ts';
import type { Principal } from '../../ports/principal.ts';
import { HttpFailure } from '../credentials/http-failure.ts';
import { readEvents } from '../remote/answer-body.ts';
import { HttpEndpoint, type RemoteOptions, type RemoteParts } from '../remote/http-endpoint.ts';
import { cannotStart, type HttpRefusal, noEndpoint, refusalOf } from '../remote/refusals.ts';
import { SessionLoss, sessionHeaders } from '../remote/session.ts';

/** How long a server may take to accept a message. */
const ACCEPT_MS = 30_000;
/** The SDK answers with this and status 500 if the stream of a session is over. */
const NO_STREAM = /SSE connection not established/;
const MAX_REFUSAL_BYTES = 64 * 1024;
/** The most messages in flight without an answer; more are dropped. */
const MAX_ON_THE_WAY = 2_048;

const NO_ERA: RequestFailure = {
  reason: 'server_protocol_error',
  outcome: 'not_sent',
  what: 'has no stateless requests on this transport.',
};

const NO_ROOM: RequestFailure = {
  reason: 'overloaded',
  outcome: 'not_sent',
  what: 'has too many waiting messages (limits.heldBytes); try again later.',
};

/** A message and its sender; undefined for the gateway itself. */
interface Message {
  readonly frame: Frame;
  readonly from: Principal | undefined;
}

export interface SseChannelParts extends RemoteParts {
  /** How a POST to the URL was refused; undefined if none was tried. */
  readonly postRefused?: HttpRefusal;
}

/** A remote server. */
export class SseChannel implements ServerChannel {
  readonly pid = undefined;
  readonly lastStderrLine = '';
  readonly isWritable = true;
  readonly #options: RemoteOptions;
  readonly #events: ChannelEvents;
  readonly #logger: Logger;
  readonly #endpoint: HttpEndpoint;
  readonly #owner: FindOwner;
  readonly #abort = new AbortController();
  readonly #postRefused: HttpRefusal | undefined;
  /** The URL for messages; undefined until the server has named it. */
  #address: URL | undefined;
  #early: Message[] = [];
  #onTheWay = 0;
  readonly #loss = new SessionLoss(
    () => this.#onTheWay > 0,
    () => this.#end('session_lost'),
  );
  /** The last notification. It must be accepted before the next message is sent. */
  #order: Promise<void> = Promise.resolve();
  #initializeId: number | undefined;
  #version: string | undefined;
  #isOver = false;

  constructor(target: { readonly url: string }, options: RemoteOptions, parts: SseChannelParts) {
    this.#postRefused = parts.postRefused;
    this.#options = options;
    this.#events = parts.events;
    this.#logger = parts.logger;
    this.#endpoint = new HttpEndpoint(target, options.limits.inFlight, parts);
    this.#owner = parts.owner;
    void this.#open();
  }

  send(message: Buffer, from?: Principal): boolean {
    if (this.#isOver) return false;
    const frame = scan(message);
    const id = requestId(frame);
    if (frame.method === DISCOVER && id !== undefined) {
      // The caller must have the request in its table first.
      queueMicrotask(() => this.#events.failed(id, NO_ERA));
    } else if (this.#loss.isKnown) {
      this.#loss.noteNotTaken(id);
    } else if (this.#address === undefined) {
      this.#early.push({ frame, from });
    } else {
      this.#post({ frame, from }, this.#address);
    }
    return true;
  }

  async close(): Promise<void> {
    this.#isOver = true;
    this.#loss.stop();
    this.#abort.abort();
    await this.#endpoint.close();
  }

  async #open(): Promise<void> {
    const { start: startMs } = this.#options.timeouts;
    try {
      const answer = await this.#endpoint.request({
        method: 'GET',
        headers: { accept: 'text/event-stream' },
        signal: this.#abort.signal,
        headMs: startMs,
      });
      if (answer.status !== 200 || answer.type !== 'text/event-stream') {
        const refusal = await refusalOf(answer, undefined, MAX_REFUSAL_BYTES);
        this.#end(cannotStart(noEndpoint(this.#postRefused, refusal)));
        return;
      }
      const position = { lastId: undefined, retryMs: undefined };
      await readEvents(answer, this.#options.limits.message, position, {
        message: (bytes) => this.#received(bytes),
        oversize: (...dropped) => this.#events.oversize(...dropped),
        other: (event) => this.#onEvent(event),
      });
      this.#end('stream_closed');
    } catch (error) {
      this.#end(error instanceof HttpFailure ? cannotStart(error.failure) : 'stream_closed');
    }
  }

  #onEvent(event: SseEvent): void {
    if (event.type !== 'endpoint' || this.#address !== undefined || this.#isOver) return;
    const { url } = this.#endpoint;
    const address = URL.parse(event.data?.toString('utf8').trim() ?? '', url);
    // Messages and configured headers are sent only to the configured origin.
    if (address?.origin !== url.origin || address.username !== '' || address.password !== '') {
      this.#end('cannot_start: it named an endpoint on another origin');
      return;
    }
    this.#address = address;
    const early = this.#early;
    this.#early = [];
    for (const message of early) this.#post(message, address);
  }

  #received(bytes: Buffer): void {
    if (this.#isOver) return;
    if (this.#initializeId !== undefined) this.#noteVersion(scan(bytes));
    this.#events.received(bytes);
  }

  #noteVersion(frame: Frame): void {
    if (integerId(frame.bytes, frame.idStart, frame.idEnd) !== this.#initializeId) return;
    this.#initializeId = undefined;
    const version = parseResult(frame)?.['protocolVersion'];
    if (typeof version === 'string') this.#version = version;
  }

  // A request is sent when the server has accepted the notifications before it.
  #post(message: Message, address: URL): void {
    const { frame } = message;
    const id = requestId(frame);
    if (frame.method === INITIALIZE) this.#initializeId = id;
    const quiet = this.#endpoint.quiet(message.from);
    if (quiet !== undefined && id !== undefined) {
      queueMicrotask(() => this.#fail(frame, quiet));
      return;
    }
    if (this.#onTheWay > MAX_ON_THE_WAY) {
      this.#fail(frame, { reason: 'overloaded', outcome: 'not_sent', what: 'takes no messages.' });
      return;
    }
    const { length } = frame.bytes;
    if (!this.#owner().hasRoom(length)) {
      this.#fail(frame, NO_ROOM);
      return;
    }
    this.#owner().add('to_server', length);
    this.#onTheWay++;
    const posted = this.#order
      .then(() => this.#postNow(message, address))
      .finally(() => {
        this.#onTheWay--;
        this.#owner().remove('to_server', length);
        this.#loss.look();
      });
    if (id === undefined) this.#order = posted;
  }

  async #postNow({ frame, from }: Message, address: URL): Promise<void> {
    if (this.#isOver) return;
    const session =
      this.#version === undefined ? undefined : { id: undefined, version: this.#version };
    try {
      const answer = await this.#endpoint.request(
        {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...sessionHeaders(session) },
          body: frame.bytes,
          signal: this.#abort.signal,
          isCall: requestId(frame) !== undefined,
          from,
          headMs: ACCEPT_MS,
        },
        address,
      );
      if (answer.status <= 299) answer.discard();
      else this.#refused(frame, await refusalOf(answer, requestId(frame), MAX_REFUSAL_BYTES));
    } catch (error) {
      if (this.#isOver) return;
      if (error instanceof HttpFailure) this.#fail(frame, error.failure);
      if (error instanceof HttpFailure && error.isUnreachable) this.#end('unreachable');
    }
  }

  #refused(frame: Frame, refusal: HttpRefusal): void {
    if (this.#isOver) return;
    const { status, answer, failure, saysSessionIsGone, isAboutSession, text } = refusal;
    this.#logger.debug({ method: frame.method, status }, 'server refused a message');
    if (answer !== undefined && !saysSessionIsGone) {
      this.#received(answer);
    } else if (saysSessionIsGone || (isAboutSession && status < 500) || NO_STREAM.test(text)) {
      // The server no longer knows the stream, even if it still seems open.
      this.#loss.noteNotTaken(requestId(frame));
      this.#loss.begin();
    } else {
      this.#fail(frame, failure);
    }
  }

  #fail(frame: Frame, failure: RequestFailure): void {
    const id = requestId(frame);
    if (id !== undefined && !this.#isOver) this.#events.failed(id, failure);
  }

  #end(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const { frame } of this.#early) this.#loss.noteNotTaken(requestId(frame));
    this.#early = [];
    this.#loss.stop();
    this.#abort.abort();
    this.#events.closed(reason, this.#loss.notTaken);
  }
}

function requestId(frame: Frame): number | undefined {
  if (frame.kind !== 'request') return undefined;
  return integerId(frame.bytes, frame.idStart, frame.idEnd);
}
