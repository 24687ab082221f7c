// Modern requests on a channel that all requests share. The client's ids distinguish them. A message cancels
// one; the end of the channel cancels all (2026-07-28 basic/transports/stdio).

import type { WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { idKey } from '../jsonrpc/id.ts';
import { errorMessage } from '../jsonrpc/serialize.ts';
import { continuesWork } from '../mcp/continuation.ts';
import { checkEnvelope, type Envelope } from '../mcp/envelope.ts';
import { ERRORS, wireErrorOf } from '../mcp/errors.ts';
import { FAILURES } from '../mcp/failures.ts';
import { type Principal, quotaKeyOf } from '../ports/principal.ts';
import type { ResponseWriter } from '../ports/response-writer.ts';
import type { ClientRequest, RequestOwner } from './client-request.ts';
import { type ModernRequests, modernRequest, serveBy } from './modern-requests.ts';
import type { ServedEndpoint } from './served-endpoint.ts';

/** The most requests in flight on one channel, including listen streams. */
const MAX_IN_FLIGHT = 256;

export interface ChannelModernParts {
  readonly served: ServedEndpoint;
  readonly principal: Principal;
  /** All modern requests of the listener, so that a stop can wait for them. */
  readonly all: ModernRequests;
}

/** The modern requests of one channel. */
export class ChannelModern implements RequestOwner {
  readonly #parts: ChannelModernParts;
  readonly #writer: ResponseWriter;
  readonly #open = new Map<string, ClientRequest>();
  #principal: Principal;

  constructor(parts: ChannelModernParts, writer: ResponseWriter) {
    this.#parts = parts;
    this.#principal = parts.principal;
    this.#writer = writer;
  }

  /**
   * Continues with other credentials of the same principal.
   * @returns false if that is not allowed
   */
  continueAs(principal: Principal): boolean {
    const { endpoint } = this.#parts.served;
    const before = this.#principal;
    if (principal === before) return true;
    if (principal.key !== before.key) return false;
    if (endpoint.credentialFingerprint(principal) !== endpoint.credentialFingerprint(before))
      return false;
    this.#principal = principal;
    return true;
  }

  /** Serves a request. */
  take(frame: Frame): void {
    const id = frame.idBytes;
    if (id === undefined) return;
    const key = idKey(id);
    const checked = checkEnvelope(frame);
    const error = 'error' in checked ? checked.error : this.#refusal(frame, key);
    if (error !== undefined) this.#writer.end(errorMessage(id, error));
    else if ('envelope' in checked) this.#serve(frame, key, checked.envelope);
  }

  #serve(frame: Frame, key: string, envelope: Envelope): void {
    const { served, all } = this.#parts;
    const request = modernRequest(frame, envelope, {
      principal: this.#principal,
      headers: undefined,
      writer: this.#writer,
      owner: this,
      meter: served.meter,
    });
    this.#open.set(key, request);
    all.add(request);
    serveBy(served, request);
  }

  /** Why a request can't be accepted now; undefined if it can. */
  #refusal(frame: Frame, key: string): WireError | undefined {
    const { served } = this.#parts;
    if (this.#open.has(key)) return ERRORS.idInFlightOnChannel;
    if (served.drain.isOn && !continuesWork(frame)) return wireErrorOf(served.refusal);
    if (this.#open.size >= MAX_IN_FLIGHT) return wireErrorOf(FAILURES.tooManyOnChannel());
    return served.meter.isFull(quotaKeyOf(this.#principal))
      ? wireErrorOf(FAILURES.tooManyOfPrincipal())
      : undefined;
  }

  /**
   * Handles a `notifications/cancelled`.
   * @returns whether it was about a request of this channel
   */
  cancel(notice: Frame): boolean {
    const id = notice.slice(notice.requestIdStart, notice.requestIdEnd);
    const request = id === undefined ? undefined : this.#open.get(idKey(id));
    request?.cancel(undefined);
    return request !== undefined;
  }

  settled(request: ClientRequest): void {
    const id = request.frame.idBytes;
    if (id !== undefined) this.#open.delete(idKey(id));
    this.#parts.all.settled(request);
  }

  /** Cancels all requests. */
  close(): void {
    for (const request of [...this.#open.values()]) request.cancel(undefined);
  }
}
