// A client's request on its way to one of several servers: under the server's own names, and the
// answer under the client's. Settled through the request that it stands for.
import type { GatewayError } from '../../base/errors.ts';
import { type ExposeUri, exposeInTurns, mayNameUris } from '../../catalog/resource-texts.ts';
import type { WireError } from '../../jsonrpc/error.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { parseString } from '../../jsonrpc/parse.ts';
import { viewOf } from '../../jsonrpc/text-walk.ts';
import { RESOURCES_READ } from '../../mcp/methods.ts';
import { contain } from '../../ports/contain.ts';
import type { Downstream } from '../../ports/downstream.ts';
import type { Exchange, ExchangeHolder } from '../../ports/exchange.ts';
import type { ModernExchange } from '../../ports/modern.ts';
import type { Sending } from './follow.ts';
import type { Candidate } from './route.ts';

/** What becomes of an answer on its way back. */
export interface RouteOptions extends Pick<Sending, 'limitMs' | 'missed'> {
  /** What a URI of the server is to the client. */
  readonly expose: ExposeUri;
}

/** A request as one server gets it. */
export class RoutedExchange implements Exchange {
  readonly frame: Frame;
  readonly client: Downstream;
  readonly limitMs: number | undefined;
  /** The client's own. */
  readonly original: Exchange;
  readonly #exposeUri: ExposeUri;
  readonly #missed: RouteOptions['missed'];

  /**
   * @param frame what the server gets
   * @param client as the server sees it
   */
  constructor(original: Exchange, frame: Frame, client: Downstream, options: RouteOptions) {
    this.original = original;
    this.frame = frame;
    this.client = client;
    this.limitMs = options.limitMs ?? original.limitMs;
    this.#exposeUri = options.expose;
    this.#missed = options.missed;
  }

  get isSettled(): boolean {
    return this.original.isSettled;
  }

  get holder(): ExchangeHolder | undefined {
    return this.original.holder;
  }

  set holder(holder: ExchangeHolder | undefined) {
    this.original.holder = holder;
  }

  respond(answer: Frame): void {
    if (answer.resultStart < 0) {
      this.#miss(() => this.original.respond(answer));
      return;
    }
    if (!mayNameUris(this.original.frame.method, answer)) {
      this.original.respond(answer);
      return;
    }
    const result = viewOf(answer.bytes, answer.resultStart, answer.resultEnd);
    this.#expose(result, (exposed) => {
      if (exposed === result) this.original.respond(answer);
      else this.original.answer(exposed);
    });
  }

  answer(result: Buffer): void {
    this.#expose(result, (exposed) => this.original.answer(exposed));
  }

  /** @param settle told of the result with the client's URIs, in a later turn if it is large */
  #expose(result: Buffer, settle: (exposed: Buffer) => void): void {
    const exposed = exposeInTurns(this.original.frame.method, result, this.#exposeHere);
    if (exposed instanceof Promise) contain(this.original, exposed.then(settle));
    else settle(exposed);
  }

  /** A read is answered with the URI that was asked for. */
  get #exposeHere(): ExposeUri {
    if (this.frame.method !== RESOURCES_READ) return this.#exposeUri;
    const asked = uriOf(this.original.frame);
    const sent = uriOf(this.frame);
    return (uri, effort) => (uri === sent ? asked : this.#exposeUri(uri, effort));
  }

  refuse(error: WireError): void {
    this.#miss(() => this.original.refuse(error));
  }

  fail(failure: GatewayError): void {
    // One that may have run the request is not asked again elsewhere: that would take as long once more.
    if (failure.outcome === 'not_sent') this.#miss(() => this.original.fail(failure));
    else this.original.fail(failure);
  }

  push(message: Buffer): boolean {
    return this.original.push(message);
  }

  #miss(deliver: () => void): void {
    if (this.#missed === undefined || this.isSettled) deliver();
    else this.#missed(deliver);
  }
}

/** The same for a modern request. */
export class RoutedModernExchange extends RoutedExchange implements ModernExchange {
  readonly envelope: ModernExchange['envelope'];
  readonly headers: ModernExchange['headers'];

  constructor(original: ModernExchange, candidate: Candidate, options: RouteOptions) {
    super(original, candidate.frame, original.client, options);
    this.envelope = original.envelope;
    this.headers = candidate.isReworded === true ? undefined : original.headers;
  }
}

/** The URI that a request names; empty when there is none. */
export function uriOf({ bytes, uriStart, uriEnd }: Frame): string {
  return parseString(bytes, uriStart, uriEnd) ?? '';
}
