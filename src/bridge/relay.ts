// A request that stands between a client's exchange and a server, and changes nothing: what one that
// changes something is made of.
import type { GatewayError } from '../base/errors.ts';
import type { WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { contain } from '../ports/contain.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Exchange, ExchangeHolder } from '../ports/exchange.ts';

/** A client's request as it goes on to a server. */
export class Relay implements Exchange, ExchangeHolder {
  readonly frame: Frame;
  protected readonly exchange: Exchange;
  #holder: ExchangeHolder | undefined;

  /**
   * @param frame what the server gets
   */
  constructor(exchange: Exchange, frame: Frame = exchange.frame) {
    this.exchange = exchange;
    this.frame = frame;
    exchange.holder = this;
  }

  get client(): Downstream {
    return this.exchange.client;
  }

  get isSettled(): boolean {
    return this.exchange.isSettled;
  }

  get limitMs(): number | undefined {
    return this.exchange.limitMs;
  }

  get holder(): ExchangeHolder | undefined {
    return this.#holder;
  }

  set holder(holder: ExchangeHolder | undefined) {
    this.#holder = holder;
  }

  get id(): number | undefined {
    return this.#holder?.id;
  }

  respond(answer: Frame): void {
    this.#pass(answer);
  }

  /** Responds with an answer that may be worked on in later turns. */
  protected respondWith(answer: Frame | Promise<Frame>): void {
    if (!(answer instanceof Promise)) this.#pass(answer);
    else
      contain(
        this,
        answer.then((edited) => this.#pass(edited)),
      );
  }

  #pass(answer: Frame): void {
    this.ended();
    this.exchange.respond(answer);
  }

  answer(result: Buffer): void {
    this.ended();
    this.exchange.answer(result);
  }

  refuse(error: WireError): void {
    this.ended();
    this.exchange.refuse(error);
  }

  fail(failure: GatewayError): void {
    this.ended();
    this.exchange.fail(failure);
  }

  push(message: Buffer): boolean {
    return this.exchange.push(message);
  }

  cancel(notice: Frame | undefined): void {
    this.ended();
    this.#holder?.cancel(notice);
  }

  /** Told before it is settled, and when it is cancelled. */
  protected ended(): void {
    // Nothing of its own is left.
  }
}
