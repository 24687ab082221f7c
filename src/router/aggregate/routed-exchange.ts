// A client's request on its way to one of several servers: under the server's own names, and the
// answer under the client's. Settled through the request that it stands for.
import type { GatewayError } from '../../base/errors.ts';
import type { WireError } from '../../jsonrpc/error.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import type { Downstream } from '../../ports/downstream.ts';
import type { Exchange, ExchangeHolder } from '../../ports/exchange.ts';
import type { ModernExchange } from '../../ports/modern.ts';

/** Changes a result's text; returns the same object where nothing changes. */
export type ResultEdit = (result: Buffer) => Buffer;

/** What becomes of an answer on its way back. */
export interface RouteOptions {
  /** What the client has to see differently in a result. */
  readonly edit?: ResultEdit | undefined;
  /** The arguments are others than those whose copies stand in the client's headers. */
  readonly isReworded?: boolean | undefined;
  /** How long it may take without an answer or progress, where that is not the server's limit. */
  readonly limitMs?: number | undefined;
  /**
   * The server has not what was asked for, or was not reached: perhaps another one has it.
   * @param deliver gives the client this server's error after all
   */
  readonly missed?: ((deliver: () => void) => void) | undefined;
}

/** A request as one server gets it. */
export class RoutedExchange implements Exchange {
  readonly frame: Frame;
  readonly client: Downstream;
  readonly limitMs: number | undefined;
  /** The client's own. */
  readonly original: Exchange;
  readonly #edit: ResultEdit | undefined;
  readonly #missed: RouteOptions['missed'];

  /**
   * @param frame what the server gets
   * @param client as the server sees it
   */
  constructor(original: Exchange, frame: Frame, client: Downstream, options: RouteOptions = {}) {
    this.original = original;
    this.frame = frame;
    this.client = client;
    this.limitMs = options.limitMs ?? original.limitMs;
    this.#edit = options.edit;
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
    if (this.#edit === undefined) {
      this.original.respond(answer);
      return;
    }
    const result = answer.bytes.subarray(answer.resultStart, answer.resultEnd);
    const edited = this.#edit(result);
    if (edited === result) this.original.respond(answer);
    else this.original.answer(edited);
  }

  answer(result: Buffer): void {
    this.original.answer(this.#edit?.(result) ?? result);
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

  constructor(original: ModernExchange, frame: Frame, options?: RouteOptions) {
    super(original, frame, original.client, options);
    this.envelope = original.envelope;
    this.headers = options?.isReworded === true ? undefined : original.headers;
  }
}
