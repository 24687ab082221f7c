// Modern requests. Each is complete in itself: its client is known only by the envelope, and can be asked
// only in results. Requests in flight are counted, so that a stop can wait for them.

import { asGatewayError } from '../base/errors.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { parsedCost } from '../jsonrpc/parse.ts';
import type { Envelope } from '../mcp/envelope.ts';
import { UNASKABLE } from '../mcp/errors.ts';
import { FAILURES } from '../mcp/failures.ts';
import { LISTEN } from '../mcp/modern-methods.ts';
import type { RequestMeter } from '../observe/request-meter.ts';
import type { Endpoint } from '../ports/dispatcher.ts';
import type { Principal } from '../ports/principal.ts';
import type { Headers } from '../ports/request.ts';
import type { ResponseWriter } from '../ports/response-writer.ts';
import { SilentClient } from '../ports/silent-client.ts';
import { ClientRequest, type RequestOwner } from './client-request.ts';

/** Makes a modern request. */
export function modernRequest(
  frame: Frame,
  envelope: Envelope,
  parts: {
    readonly principal: Principal;
    readonly headers: Headers | undefined;
    readonly writer: ResponseWriter;
    readonly owner: RequestOwner;
    readonly meter: RequestMeter;
  },
): ClientRequest {
  const { principal, headers, writer, owner, meter } = parts;
  const client = new SilentClient(principal, envelope, UNASKABLE.modern, envelope.severity);
  return new ClientRequest(frame, { client, owner, writer, meter, headers });
}

/** Lets an endpoint serve a modern request. An exception fails the request. */
export function serveBy(
  { endpoint, meter }: { readonly endpoint: Endpoint; readonly meter: RequestMeter },
  request: ClientRequest,
): void {
  const { bytes, metaStart, metaEnd } = request.frame;
  // The envelope was parsed, which takes more memory than its text.
  if (!request.takeRoom(bytes.length + parsedCost(bytes, metaStart, metaEnd))) {
    request.settle(FAILURES.tooMuchHeld());
    return;
  }
  const { refusal } = meter;
  if (refusal !== undefined) {
    request.settle(refusal);
    return;
  }
  try {
    endpoint.serve(request);
  } catch (error) {
    request.settle(asGatewayError(error));
  }
}

/** The modern requests of one listener that are not answered yet. */
export class ModernRequests implements RequestOwner {
  readonly #open = new Set<ClientRequest>();

  /** The number of requests in flight. Listen streams don't count, because they never end by themselves. */
  get pending(): number {
    let pending = 0;
    for (const { frame } of this.#open) if (frame.method !== LISTEN) pending++;
    return pending;
  }

  add(request: ClientRequest): void {
    this.#open.add(request);
  }

  settled(request: ClientRequest): void {
    this.#open.delete(request);
  }

  /** Cancels the remaining requests. */
  close(): void {
    for (const request of [...this.#open]) request.cancel(undefined);
  }
}
