// One client request in flight and the way back to its caller: the unit that everything is routed
// by, and the only thing that both a listener and a mux know (docs/architecture.md#one-request,
// docs/adr/0009).
import { asGatewayError, type GatewayError } from '../base/errors.ts';
import type { WireError } from '../jsonrpc/error.ts';
import { Frame } from '../jsonrpc/frame.ts';
import { errorFrame, resultFrame } from '../jsonrpc/response.ts';
import type { Downstream } from './downstream.ts';
import type { Denial } from './principal.ts';

/** The rules deny the request, and that is told openly. */
export class Denied {
  readonly error: WireError;
  readonly denial: Denial;

  constructor(error: WireError, denial: Denial) {
    this.error = error;
    this.denial = denial;
  }
}

/**
 * What settles a request: a server's response, whose id is replaced by the caller's; a result of the
 * gateway's own, as JSON text; an error of the protocol; or a failure of the gateway's own. The parts
 * differ in their class, so that passing one on makes no object.
 */
export type Outcome = Frame | Buffer | WireError | Denied | GatewayError;

/**
 * Who is told of a server's task, and asked for it, after the call that made it was answered: whoever it
 * belongs to.
 */
export interface TaskSubscriber extends Downstream {
  /** The server said something of the task: its status, progress with the caller's token, a log. */
  tell(notification: Frame): void;
  /** The connection to the server is over: nothing more will come of the task. */
  lost(): void;
}

/** A task that is followed. */
export interface TaskSubscription {
  /** Nothing more is wanted of it. */
  stop(): void;
}

/** Whoever works on a request: a queue, then a mux. */
export interface Canceller {
  /** The id that the server knows; undefined while nothing was sent. */
  readonly id: number | undefined;
  /**
   * The caller no longer wants the answer.
   * @param notice the caller's `notifications/cancelled`, when it sent one
   */
  cancel(notice: Frame | undefined): void;
  /**
   * Has somebody told of a task of the server that the call is about. Absent while nothing was sent.
   * @param taskId the server's
   * @param isMaker whether the call made the task, so that its progress goes on
   */
  follow?(taskId: string, subscriber: TaskSubscriber, isMaker: boolean): TaskSubscription;
}

/** Whose call something is about. */
export interface Caller {
  readonly client: Downstream;
  /** Undefined once nobody waits for the answer. */
  readonly request: Request | undefined;
}

/** Headers of an HTTP request by lower-case name. */
export type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** One client request in flight. */
export interface Request {
  readonly frame: Frame;
  /** Who asked. Of a modern request all that is known of it came with the request. */
  readonly client: Downstream;
  readonly isSettled: boolean;
  /** Of a modern request that came over HTTP: they repeat parts of the message. */
  readonly headers?: Headers | undefined;
  /** How long it may take without an answer or progress, instead of the server's limit; milliseconds. */
  readonly limitMs?: number | undefined;
  /** The server answers when a task is over: only the hard limit of a call counts. */
  readonly isPatient?: boolean;
  /** Its answer is of use only at the instance that its client's place is at. */
  readonly isBoundToLease?: boolean;
  /** It was sent once more, since the server had lost the session: it is not sent a third time. */
  isRepeated?: boolean;
  /**
   * Who is told of a cancel. Whoever the request is given to sets it to itself, and nobody else does:
   * a queue, a mux, or the request that is sent in its place. Undefined while nobody has to be told.
   */
  canceller: Canceller | undefined;

  /** Ends it. The first outcome counts; later ones do nothing. */
  settle(outcome: Outcome): void;
  /**
   * Sends a message that belongs to this request and comes before its answer.
   * @param message in parts, if it is large
   * @returns false when the caller can't be given one
   */
  push(...message: readonly Buffer[]): boolean;
  /** Told of the call at the server, before that is sent it. */
  sent?(call: Canceller): void;
}

/** An outcome that is no failure, as if a server had written it. */
export function responseOf(outcome: Exclude<Outcome, GatewayError>): Frame {
  if (outcome instanceof Frame) return outcome;
  if (Buffer.isBuffer(outcome)) return resultFrame(outcome);
  return errorFrame(outcome instanceof Denied ? outcome.error : outcome);
}

/** Has a request fail when work on it that goes on by itself breaks: else nobody would answer it. */
export function contain(request: Pick<Request, 'settle'>, work: Promise<unknown>): void {
  work.catch((error: unknown) => request.settle(asGatewayError(error)));
}

/** Settles a request with an outcome that is there, or that work in later turns has. */
export function settleSoon(
  request: Pick<Request, 'settle'>,
  outcome: Outcome | Promise<Outcome>,
): void {
  if (outcome instanceof Promise) settleLater(request, outcome);
  else request.settle(outcome);
}

/** Settles a request with what comes of work on it, or with the failure of that. */
export function settleLater(request: Pick<Request, 'settle'>, work: Promise<Outcome>): void {
  contain(
    request,
    work.then((outcome) => request.settle(outcome)),
  );
}
