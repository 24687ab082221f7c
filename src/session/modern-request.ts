// One modern request: an exchange whose client is known only by the envelope that came with it. It
// has no session, is told nothing but what belongs to it, and is asked nothing directly.
import { asGatewayError } from '../base/errors.ts';
import { INTERNAL_ERROR } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { parsedCost } from '../jsonrpc/parse.ts';
import type { Envelope } from '../mcp/envelope.ts';
import { type RequestMeter, tooMuchHeld } from '../observe/request-meter.ts';
import type { Endpoint } from '../ports/dispatcher.ts';
import type { Downstream, Question } from '../ports/downstream.ts';
import type { ModernExchange } from '../ports/modern.ts';
import type { Principal } from '../ports/principal.ts';
import type { AnswerSink } from '../ports/sink.ts';
import { ClientExchange, type ExchangeOwner } from './client-exchange.ts';

/** Who sends a modern request. */
class ModernClient implements Downstream {
  readonly principal: Principal;
  readonly version: string;
  readonly capabilities: Envelope['capabilities'];
  readonly info: unknown;
  readonly logThreshold = Number.POSITIVE_INFINITY;

  constructor(principal: Principal, envelope: Envelope) {
    this.principal = principal;
    this.version = envelope.version;
    this.capabilities = envelope.capabilities;
    this.info = envelope.info;
  }

  notify(): void {
    // Nothing reaches a modern client outside its requests.
  }

  ask(question: Question): void {
    question.refuse({
      code: INTERNAL_ERROR,
      message: 'This client accepts requests only in results (input_required).',
    });
  }

  withdraw(): void {
    // It was asked nothing.
  }
}

export interface ModernRequestParts {
  readonly envelope: Envelope;
  readonly principal: Principal;
  readonly headers: ModernExchange['headers'];
  readonly sink: AnswerSink;
  readonly owner: ExchangeOwner;
  readonly meter: RequestMeter;
}

/** Has an endpoint serve a request, which fails when that breaks. */
export function serveBy(endpoint: Pick<Endpoint, 'serve'>, request: ModernRequest): void {
  if (!request.takeRoom()) {
    request.fail(tooMuchHeld());
    return;
  }
  try {
    endpoint.serve(request);
  } catch (error) {
    request.fail(asGatewayError(error));
  }
}

/** A modern request in flight. */
export class ModernRequest extends ClientExchange implements ModernExchange {
  readonly envelope: Envelope;
  readonly headers: ModernExchange['headers'];

  constructor(frame: Frame, parts: ModernRequestParts) {
    const { sink, owner, meter } = parts;
    super(frame, {
      client: new ModernClient(parts.principal, parts.envelope),
      owner,
      sink,
      meter,
    });
    this.envelope = parts.envelope;
    this.headers = parts.headers;
  }

  /** What it says of its client was parsed. */
  protected override get heldSize(): number {
    const { bytes, metaStart, metaEnd } = this.frame;
    return bytes.length + parsedCost(bytes, metaStart, metaEnd);
  }
}
