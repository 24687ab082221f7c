// A request that the translation sends itself, for a client.

import { GatewayError } from '../base/errors.ts';
import { Frame } from '../jsonrpc/frame.ts';
import type { JsonObject } from '../jsonrpc/parse.ts';
import { scan } from '../jsonrpc/scan.ts';
import { callMessage } from '../jsonrpc/serialize.ts';
import { copyText } from '../jsonrpc/text-walk.ts';
import { FAILURES } from '../mcp/failures.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Lease } from '../ports/lease.ts';
import { type Canceller, type Outcome, type Request, responseOf } from '../ports/request.ts';

const ID = 'own';

/** The result of such a request. */
export type Answer = Frame | GatewayError;

/** A request of the translation itself. */
export class OwnRequest implements Request {
  readonly frame: Frame;
  readonly client: Downstream;
  readonly isPatient: boolean;
  canceller: Canceller | undefined = undefined;
  isSettled = false;
  readonly answer: Promise<Answer>;
  readonly #resolve: (answer: Answer) => void;
  readonly #sent: ((call: Canceller) => void) | undefined;

  /** @param client for which it is sent; it gets no messages of it */
  constructor(
    client: Downstream,
    method: string,
    params: JsonObject,
    options: {
      /** Whether the answer may take as long as a task. */
      readonly isPatient?: boolean;
      /** Called with the call at the server. */
      readonly sent?: (call: Canceller) => void;
    } = {},
  ) {
    this.frame = scan(callMessage(method, params, ID));
    this.client = client;
    this.isPatient = options.isPatient ?? false;
    this.#sent = options.sent;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.answer = promise;
    this.#resolve = resolve;
  }

  sent(call: Canceller): void {
    this.#sent?.(call);
  }

  /** Sends it. */
  at(lease: Lease): Promise<Answer> {
    lease.dispatch(this);
    return this.answer;
  }

  /** The answer is no longer needed. */
  cancel(): void {
    if (this.isSettled) return;
    this.canceller?.cancel(undefined);
    this.settle(FAILURES.cancelled());
  }

  settle(outcome: Outcome): void {
    this.isSettled = true;
    if (outcome instanceof GatewayError) this.#resolve(outcome);
    // Copied: it may be a view of a chunk of the server's output, and may wait.
    else if (outcome instanceof Frame) this.#resolve(scan(copyText(outcome.bytes)));
    else this.#resolve(responseOf(outcome));
  }

  push(): boolean {
    return false;
  }
}
