// A request that is sent in the place of another one: every stage between a client and a server that
// changes requests or their outcomes is one of these, and overrides what it changes (docs/adr/0009).
import { asGatewayError } from '../base/errors.ts';
import { Frame } from '../jsonrpc/frame.ts';
import type { Downstream, Reply, ServerRequest } from './downstream.ts';
import type { Canceller, Headers, Outcome, Request } from './request.ts';

/** A request as the next stage gets it. By itself it changes nothing. */
export class ForwardedRequest implements Request, Canceller {
  frame: Frame;
  readonly client: Downstream;
  canceller: Canceller | undefined = undefined;
  /** The one that it stands for. */
  protected readonly original: Request;

  /**
   * @param frame what the server gets
   * @param client as the server sees it
   */
  constructor(original: Request, frame: Frame = original.frame, client = original.client) {
    this.original = original;
    this.frame = frame;
    this.client = client;
    original.canceller = this;
  }

  get isSettled(): boolean {
    return this.original.isSettled;
  }

  get headers(): Headers | undefined {
    return this.original.headers;
  }

  get limitMs(): number | undefined {
    return this.original.limitMs;
  }

  get id(): number | undefined {
    return this.canceller?.id;
  }

  settle(outcome: Outcome): void {
    if (outcome instanceof Frame && outcome.resultStart >= 0) this.answered(outcome);
    else this.pass(outcome);
  }

  /** The server answered with a result. */
  protected answered(answer: Frame): void {
    this.pass(answer);
  }

  /** Settles the original, with what may be worked on in later turns. */
  protected pass(outcome: Outcome | Promise<Outcome>): void {
    if (outcome instanceof Promise) {
      outcome
        .then((edited) => this.pass(edited))
        .catch((error: unknown) => this.pass(asGatewayError(error)));
      return;
    }
    this.ended();
    this.original.settle(outcome);
  }

  push(...message: readonly Buffer[]): boolean {
    return this.original.push(...message);
  }

  cancel(notice: Frame | undefined): void {
    this.ended();
    this.canceller?.cancel(notice);
  }

  /** Told before it is settled, and when it is cancelled. */
  protected ended(): void {
    // Nothing of its own is left.
  }
}

/** A server's request as the next one on the way to its client gets it. By itself it changes nothing. */
export class ForwardedServerRequest implements ServerRequest {
  readonly frame: Frame;
  /** The one that it stands for. */
  protected readonly original: ServerRequest;

  /** @param frame what the client gets */
  constructor(original: ServerRequest, frame: Frame) {
    this.original = original;
    this.frame = frame;
  }

  settle(reply: Reply): void {
    this.original.settle(reply);
  }

  progress(notification: Frame): void {
    this.original.progress(notification);
  }
}
