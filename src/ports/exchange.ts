// One client request in flight and the way back to its caller: the unit that everything is routed
// by, and the only thing that both a listener and a mux know (docs/architecture.md#one-call).
import type { GatewayError } from '../base/errors.ts';
import type { WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import type { Downstream } from './downstream.ts';
import type { Denial } from './principal.ts';
import type { FollowedTask, TaskFollower } from './task.ts';

/** Whoever works on an exchange: a queue, then a mux. */
export interface ExchangeHolder {
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
  follow?(taskId: string, follower: TaskFollower, isMaker: boolean): FollowedTask;
}

/** Whose call something is about. */
export interface Caller {
  readonly client: Downstream;
  /** Undefined once nobody waits for the answer. */
  readonly exchange: Exchange | undefined;
}

/** Exactly one of respond, answer, refuse and fail settles it; later ones do nothing. */
export interface Exchange {
  readonly frame: Frame;
  /** Who asked. */
  readonly client: Downstream;
  readonly isSettled: boolean;
  /** How long it may take without an answer or progress, instead of the server's limit; milliseconds. */
  readonly limitMs?: number | undefined;
  /** The server answers when a task is over: only the hard limit of a call counts. */
  readonly isPatient?: boolean;
  /** Its answer is of use only at the instance that its client's place is at. */
  readonly isBoundToSeat?: boolean;
  /** It was sent once more, since the server had lost the session: it is not sent a third time. */
  isRepeated?: boolean;
  /** Set by whoever holds it now; undefined while nobody can be told of a cancel. */
  holder: ExchangeHolder | undefined;

  /** Settles with a server's response; its id is replaced by the caller's. */
  respond(answer: Frame): void;
  /** Settles with a result of the gateway's own, as JSON text. */
  answer(result: Buffer): void;
  /**
   * Settles with an error of the protocol.
   * @param denial the rules are why, and that is told openly
   */
  refuse(error: WireError, denial?: Denial): void;
  /** Settles with a failure of the gateway's own. */
  fail(failure: GatewayError): void;
  /**
   * Sends a message that belongs to this exchange and comes before its answer.
   * @returns false when the caller can't be given one
   */
  push(message: Buffer): boolean;
}
