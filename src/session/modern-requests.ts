// Modern requests: each is complete in itself, so that its client is known only by the envelope that
// came with it, and is asked nothing but in results. Those in flight are counted, so that a stop can
// wait for them.

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

/** A modern request in flight. */
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

/** Has an endpoint serve a modern request, which fails when that breaks. */
export function serveBy(
  { endpoint, meter }: { readonly endpoint: Endpoint; readonly meter: RequestMeter },
  request: ClientRequest,
): void {
  const { bytes, metaStart, metaEnd } = request.frame;
  // What it says of its client was parsed.
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

/** Modern requests of one listener that are not answered yet. */
export class ModernRequests implements RequestOwner {
  readonly #open = new Set<ClientRequest>();

  /** Requests in flight; listen streams don't count, since they never end by themselves. */
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

  /** Cancels what is left. */
  close(): void {
    for (const request of [...this.#open]) request.cancel(undefined);
  }
}
