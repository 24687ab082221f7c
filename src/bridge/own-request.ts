// A request that the bridge makes for itself, in the name of a client.
import { GatewayError } from '../base/errors.ts';
import type { WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import type { JsonObject } from '../jsonrpc/parse.ts';
import { scan } from '../jsonrpc/scan.ts';
import { callMessage, errorMessage, resultMessage } from '../jsonrpc/serialize.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Exchange, ExchangeHolder } from '../ports/exchange.ts';
import type { Seat } from '../ports/seat.ts';

const ID = 'own';
const ID_TEXT = Buffer.from('0');

/** What came of a request. */
export type Outcome = Frame | GatewayError;

/** A request of the bridge's own. */
export class OwnRequest implements Exchange {
  readonly frame: Frame;
  readonly client: Downstream;
  readonly isPatient: boolean;
  readonly #held: ((holder: ExchangeHolder) => void) | undefined;
  #holder: ExchangeHolder | undefined;
  isSettled = false;
  readonly outcome: Promise<Outcome>;
  readonly #resolve: (outcome: Outcome) => void;

  /**
   * @param client in whose name; nothing is pushed to it
   */
  constructor(
    client: Downstream,
    method: string,
    params: JsonObject,
    options: {
      /** Whether the answer may take as long as a task. */
      readonly isPatient?: boolean;
      /** Told who works on it. */
      readonly held?: (holder: ExchangeHolder) => void;
    } = {},
  ) {
    this.frame = scan(callMessage(method, params, ID));
    this.client = client;
    this.isPatient = options.isPatient ?? false;
    this.#held = options.held;
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    this.outcome = promise;
    this.#resolve = resolve;
  }

  get holder(): ExchangeHolder | undefined {
    return this.#holder;
  }

  set holder(holder: ExchangeHolder | undefined) {
    this.#holder = holder;
    if (holder !== undefined) this.#held?.(holder);
  }

  /** Sends it. */
  at(seat: Seat): Promise<Outcome> {
    seat.dispatch(this);
    return this.outcome;
  }

  /** The answer is of no use any more. */
  cancel(): void {
    if (this.isSettled) return;
    this.#holder?.cancel(undefined);
    this.#settle(
      new GatewayError('internal', 'The request was cancelled.', { outcome: 'unknown' }),
    );
  }

  respond(answer: Frame): void {
    // A copy: it may be a view on a chunk of the server's output, and may wait.
    this.#settle(scan(Buffer.from(answer.bytes)));
  }

  answer(result: Buffer): void {
    this.#settle(scan(resultMessage(ID_TEXT, result)));
  }

  refuse(error: WireError): void {
    this.#settle(scan(errorMessage(ID_TEXT, error)));
  }

  fail(failure: GatewayError): void {
    this.#settle(failure);
  }

  push(): boolean {
    return false;
  }

  #settle(outcome: Outcome): void {
    this.isSettled = true;
    this.#resolve(outcome);
  }
}
