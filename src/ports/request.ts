// One client request in flight, and the way back to its client. Everything is routed by requests, and only
// they are known to both a listener and a mux (docs/architecture.md#one-request, docs/adr/0009).
import { asGatewayError, type GatewayError } from '../base/errors.ts';
import type { WireError } from '../jsonrpc/error.ts';
import { Frame } from '../jsonrpc/frame.ts';
import { errorFrame, resultFrame } from '../jsonrpc/response.ts';
import type { Downstream } from './downstream.ts';
import type { Denial } from './principal.ts';

/** The rules deny the request, and the client is told. */
export class Denied {
  readonly error: WireError;
  readonly denial: Denial;

  constructor(error: WireError, denial: Denial) {
    this.error = error;
    this.denial = denial;
  }
}

/**
 * What settles a request: a server's response, whose id is replaced by the caller's; a result that the
 * gateway made, as JSON text; a protocol error; or a failure of the gateway. They are distinguished by class,
 * so that passing one on makes no object.
 */
export type Outcome = Frame | Buffer | WireError | Denied | GatewayError;

/**
 * The owner of a task: gets its notifications and server requests after the call that made the task was
 * answered.
 */
export interface TaskSubscriber extends Downstream {
  /** A notification about the task: its status, progress with the caller's token, a log message. */
  tell(notification: Frame): void;
  /** The connection to the server is over, so nothing more will come. */
  lost(): void;
}

/** A subscription to the messages of a task. */
export interface TaskSubscription {
  /** Ends the subscription. */
  stop(): void;
}

/** Whoever works on a request: a queue, then a mux. */
export interface Canceller {
  /** The id that the server sees; undefined while nothing was sent. */
  readonly id: number | undefined;
  /**
   * The caller no longer wants the answer.
   * @param notice the caller's `notifications/cancelled`, if it sent one
   */
  cancel(notice: Frame | undefined): void;
  /**
   * Subscribes to the messages of a task that the call is about. Absent while nothing was sent.
   * @param taskId the server's id
   * @param isMaker whether the call made the task, so that its progress continues
   */
  follow?(taskId: string, subscriber: TaskSubscriber, isMaker: boolean): TaskSubscription;
}

/** The caller that something belongs to. */
export interface Caller {
  readonly client: Downstream;
  /** Undefined when nobody waits for the answer any more. */
  readonly request: Request | undefined;
}

/** Headers of an HTTP request by lower-case name. */
export type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** One client request in flight. */
export interface Request {
  readonly frame: Frame;
  /** The client. For a modern request, everything known about it came with the request. */
  readonly client: Downstream;
  readonly isSettled: boolean;
  /** The headers of a modern request over HTTP, which repeat parts of the message. */
  readonly headers?: Headers | undefined;
  /** How long it may take without an answer or progress, in milliseconds; overrides the server's limit. */
  readonly limitMs?: number | undefined;
  /** The server answers only when a task is over, so only the call's final deadline applies. */
  readonly isPatient?: boolean;
  /** Only the instance of the client's lease can answer it. */
  readonly isBoundToLease?: boolean;
  /** It was sent again because the server had lost the session. It is not sent a third time. */
  isRepeated?: boolean;
  /**
   * Handles a cancellation. Whoever gets the request sets this to itself: a queue, a mux, or the request that
   * is sent instead. Nothing else sets it. Undefined if there is nothing to cancel.
   */
  canceller: Canceller | undefined;

  /** Ends it. The first outcome counts; later ones have no effect. */
  settle(outcome: Outcome): void;
  /**
   * Sends a message that belongs to this request and comes before its answer.
   * @param message in parts, if it is large
   * @returns false when the caller can't be given one
   */
  push(...message: readonly Buffer[]): boolean;
  /** Called with the call at the server, before it is sent. */
  sent?(call: Canceller): void;
}

/** An outcome that is not a failure, as a response. */
export function responseOf(outcome: Exclude<Outcome, GatewayError>): Frame {
  if (outcome instanceof Frame) return outcome;
  if (Buffer.isBuffer(outcome)) return resultFrame(outcome);
  return errorFrame(outcome instanceof Denied ? outcome.error : outcome);
}

/** Makes a request fail if asynchronous work on it throws. Otherwise it would never be answered. */
export function contain(request: Pick<Request, 'settle'>, work: Promise<unknown>): void {
  work.catch((error: unknown) => request.settle(asGatewayError(error)));
}

/** Settles a request with an outcome, now or when a promise resolves. */
export function settleSoon(
  request: Pick<Request, 'settle'>,
  outcome: Outcome | Promise<Outcome>,
): void {
  if (outcome instanceof Promise) settleLater(request, outcome);
  else request.settle(outcome);
}

/** Settles a request with the result of asynchronous work, or with its failure. */
export function settleLater(request: Pick<Request, 'settle'>, work: Promise<Outcome>): void {
  contain(
    request,
    work.then((outcome) => request.settle(outcome)),
  );
}
