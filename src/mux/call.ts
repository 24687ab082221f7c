// One request on its way at a server: what the server's answer, progress and questions are matched
// with. Made and changed by mux.ts only.
import type { Frame } from '../jsonrpc/frame.ts';
import type { Exchange, ExchangeHolder } from '../ports/exchange.ts';
import type { FollowedTask, TaskFollower } from '../ports/task.ts';

/** What a call needs of the mux that it is in. */
export interface CallOwner {
  cancel(call: Call, notice: Frame | undefined): void;
  follow(taskId: string, follower: TaskFollower, maker: Call | undefined): FollowedTask;
}

/** A request that the gateway makes for itself. */
export type OwnAnswer = (answer: Frame | undefined) => void;

/** One request at a server. */
export class Call implements ExchangeHolder {
  /** The id that the server knows; never used twice in the life of a connection. */
  readonly id: number;
  /** Undefined for the gateway's own requests. */
  readonly exchange: Exchange | undefined;
  readonly onAnswer: OwnAnswer | undefined;
  /** Whether the server may ask something while it works on this. */
  readonly mayAsk: boolean;
  /** The tool that is called, if it is known or suspected to ask; undefined otherwise. */
  interactiveTool: string | undefined;
  /** The server has asked during this call, or may have. */
  hasAsked = false;
  /** How long it may take without an answer or progress, in milliseconds. */
  readonly limitMs: number;
  /** Latest time by which an answer, or progress, must come. */
  deadlineMs: number;
  /** Latest time by which the answer must come, whatever the progress. */
  readonly lastDeadlineMs: number;
  /** The caller is gone, but the server may still work on it, and ask. */
  abandonedAtMs: number | undefined = undefined;
  /** The server is known to have read that since then; undefined while it is not. */
  cancelSeenAtMs: number | undefined = undefined;
  /** Last progress value that was passed on; they must increase. */
  progress = Number.NEGATIVE_INFINITY;
  /** Questions of this call that a client has not answered yet; the deadline rests meanwhile. */
  openQuestions = 0;
  /** When the first of those was given to the client. */
  askedAtMs = 0;
  readonly #owner: CallOwner;

  constructor(
    owner: CallOwner,
    id: number,
    origin: {
      exchange?: Exchange | undefined;
      onAnswer?: OwnAnswer | undefined;
      mayAsk?: boolean;
      interactiveTool?: string | undefined;
    },
    limits: {
      readonly limitMs: number;
      readonly deadlineMs: number;
      readonly lastDeadlineMs: number;
    },
  ) {
    this.#owner = owner;
    this.id = id;
    this.exchange = origin.exchange;
    this.onAnswer = origin.onAnswer;
    this.mayAsk = origin.mayAsk ?? false;
    this.interactiveTool = origin.interactiveTool;
    this.limitMs = limits.limitMs;
    this.deadlineMs = limits.deadlineMs;
    this.lastDeadlineMs = limits.lastDeadlineMs;
  }

  cancel(notice: Frame | undefined): void {
    this.#owner.cancel(this, notice);
  }

  follow(taskId: string, follower: TaskFollower, isMaker: boolean): FollowedTask {
    return this.#owner.follow(taskId, follower, isMaker ? this : undefined);
  }
}
