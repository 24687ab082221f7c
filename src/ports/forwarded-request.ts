// A request that is sent instead of another one. Every stage between client and server that changes requests
// or outcomes extends this, and overrides what it changes (docs/adr/0009).
import { asGatewayError } from '../base/errors.ts';
import { Frame } from '../jsonrpc/frame.ts';
import type { Downstream, Reply, ServerRequest } from './downstream.ts';
import type { Canceller, Headers, Outcome, Request } from './request.ts';

/** A request for the next stage. By itself it changes nothing. */
export class ForwardedRequest implements Request, Canceller {
  frame: Frame;
  readonly client: Downstream;
  canceller: Canceller | undefined = undefined;
  /** The request that it was made for. */
  protected readonly original: Request;

  /**
   * @param frame the message for the server
   * @param client the client that the server sees
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

  /** Settles the original, at once or when a promise resolves. */
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

  /** Called before it is settled, and when it is cancelled. */
  protected ended(): void {
    // For subclasses that hold something.
  }
}

/** A server's request for the next stage toward its client. By itself it changes nothing. */
export class ForwardedServerRequest implements ServerRequest {
  readonly frame: Frame;
  /** The server request that it was made for. */
  protected readonly original: ServerRequest;

  /** @param frame the message for the client */
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
