// The server requests that a client has not answered. Each gets an id of the session, because ids of
// different servers, and of one server for different clients, may be equal.

import { after, type Timer } from '../base/clock.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { integerId } from '../jsonrpc/id.ts';
import { callMessage } from '../jsonrpc/serialize.ts';
import { inOnePart, ownIdParts, replaceSpan } from '../jsonrpc/splice.ts';
import { ERRORS } from '../mcp/errors.ts';
import { CANCELLED } from '../mcp/methods.ts';
import type { ServerRequest } from '../ports/downstream.ts';
import type { Request } from '../ports/request.ts';
import type { NotificationWriter } from '../ports/response-writer.ts';

/** How long a server request waits for a client that does not read (docs/protocol.md#attribution). */
const UNREAD_LIMIT_MS = 30_000;
/** How long a server request may stay open that is not on the stream of a call. */
const OPEN_LIMIT_MS = 600_000;

interface PendingServerRequest {
  readonly serverRequest: ServerRequest;
  readonly request: Request | undefined;
  readonly timer: Timer | undefined;
}

/** Server requests to one client. */
export class PendingServerRequests {
  readonly #notificationWriter: NotificationWriter;
  readonly #asked = new Map<number, PendingServerRequest>();
  #lastId = 0;

  constructor(notificationWriter: NotificationWriter) {
    this.#notificationWriter = notificationWriter;
  }

  get size(): number {
    return this.#asked.size;
  }

  /** Sends it to the client, on the stream of its call if there is one. */
  ask(serverRequest: ServerRequest, request: Request | undefined): void {
    const id = ++this.#lastId;
    const message = ownIdParts(serverRequest.frame, id);
    this.#asked.set(id, { serverRequest, request, timer: undefined });
    // On the stream of a call the call's deadline applies. Not every call has a stream for server requests.
    if (request?.push(...message) === true || !this.#asked.has(id)) return;
    this.#asked.set(id, { serverRequest, request, timer: this.#watch(id, UNREAD_LIMIT_MS) });
    this.#notificationWriter.send(inOnePart(message), undefined);
  }

  /**
   * Takes a response of the client.
   * @returns false if it has the id of no server request
   */
  answer(response: Frame): boolean {
    const id = integerId(response.bytes, response.idStart, response.idEnd);
    const asked = id === undefined ? undefined : this.#take(id);
    asked?.serverRequest.settle(response);
    return asked !== undefined;
  }

  /** Takes a progress notification of the client. */
  progress(notification: Frame): void {
    const { bytes, tokenStart, tokenEnd } = notification;
    const id = integerId(bytes, tokenStart, tokenEnd);
    if (id !== undefined) this.#asked.get(id)?.serverRequest.progress(notification);
  }

  /** Withdraws a server request, and tells the client. */
  withdraw(serverRequest: ServerRequest, notice: Frame | undefined): void {
    for (const [id, asked] of this.#asked) {
      if (asked.serverRequest !== serverRequest) continue;
      this.#take(id);
      this.#send(cancelOf(id, notice), asked.request);
    }
  }

  /** The client has disconnected, so nobody will answer. */
  close(): void {
    for (const id of [...this.#asked.keys()]) this.#refuse(id);
  }

  #send(message: Buffer, request: Request | undefined): void {
    if (request?.push(message) === true) return;
    this.#notificationWriter.send(message, undefined);
  }

  #watch(id: number, limitMs: number): Timer {
    return after(limitMs, () => {
      const asked = this.#asked.get(id);
      if (asked === undefined) return;
      if (limitMs === UNREAD_LIMIT_MS && this.#notificationWriter.isOpen) {
        this.#asked.set(id, { ...asked, timer: this.#watch(id, OPEN_LIMIT_MS) });
      } else {
        this.#refuse(id);
      }
    });
  }

  #refuse(id: number): void {
    this.#take(id)?.serverRequest.settle(ERRORS.clientSilent);
  }

  #take(id: number): PendingServerRequest | undefined {
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    asked?.timer?.cancel();
    return asked;
  }
}

function cancelOf(id: number, notice: Frame | undefined): Buffer {
  if (notice === undefined) return callMessage(CANCELLED, { requestId: id });
  const { bytes, requestIdStart, requestIdEnd } = notice;
  return replaceSpan(bytes, requestIdStart, requestIdEnd, Buffer.from(String(id)));
}
