// One request on its way at a server: what the server's answer, progress and server requests are
// matched with. Made and changed by mux.ts only.
import type { Frame } from '../jsonrpc/frame.ts';
import type { Downstream } from '../ports/downstream.ts';
import type {
  Caller,
  Canceller,
  Request,
  TaskSubscriber,
  TaskSubscription,
} from '../ports/request.ts';
import { toolOf } from './interactive-tools.ts';

/** What a call needs of the mux that it is in. */
export interface CallOwner {
  cancel(call: Call, notice: Frame | undefined): void;
  follow(taskId: string, subscriber: TaskSubscriber, maker: Call | undefined): TaskSubscription;
}

/** A request that the gateway makes for itself. */
export type OwnAnswer = (answer: Frame | undefined) => void;

/** One request at a server. */
export class Call implements Canceller {
  /** The id that the server knows; never used twice in the life of a connection. */
  readonly id: number;
  /** Who called; undefined for the gateway's own requests. */
  readonly client: Downstream | undefined;
  /** While somebody waits for the answer. Nothing of the request is kept any longer. */
  request: Request | undefined;
  /** Whether a server without sessions was called: it asks nothing by itself. */
  readonly isStateless: boolean;
  readonly onAnswer: OwnAnswer | undefined;
  /** Whether the server may ask something while it works on this. */
  mayAsk = false;
  /** The tool that is called, if it is known or suspected to ask; undefined otherwise. */
  interactiveTool: string | undefined = undefined;
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
  /**
   * Server requests of this call that a client has not answered yet; the deadline rests meanwhile.
   */
  openServerRequests = 0;
  /** When the first of those was given to the client. */
  askedAtMs = 0;
  /** It was answered with its id as a text. */
  isMisnamed = false;
  readonly #owner: CallOwner;
  #tool: string | undefined;
  #token: Buffer | undefined;

  /**
   * @param origin a client's request, or who is told the answer to one of the gateway's own
   * @param lastDeadlineMs as `deadlineMs` is until somebody says otherwise
   */
  constructor(
    owner: CallOwner,
    id: number,
    origin: Request | OwnAnswer,
    limitMs: number,
    lastDeadlineMs: number,
  ) {
    const request = typeof origin === 'function' ? undefined : origin;
    this.#owner = owner;
    this.id = id;
    this.request = request;
    this.client = request?.client;
    this.isStateless = (request?.frame.claimStart ?? -1) >= 0;
    this.onAnswer = typeof origin === 'function' ? origin : undefined;
    this.limitMs = limitMs;
    this.deadlineMs = lastDeadlineMs;
    this.lastDeadlineMs = lastDeadlineMs;
  }

  /** The tool that is called; undefined when it is none. */
  get tool(): string | undefined {
    return this.request === undefined ? this.#tool : toolOf(this.request.frame);
  }

  /** The caller's token for progress, as it was sent. */
  get token(): Buffer | undefined {
    if (this.request === undefined) return this.#token;
    const { frame } = this.request;
    return frame.slice(frame.tokenStart, frame.tokenEnd);
  }

  /** Its progress is told after its answer too, since the task that it made goes on. */
  keepToken(): void {
    const { token } = this;
    this.#token = token && Buffer.from(token);
  }

  /** Nobody waits for the answer any more: only what tells whose a server request is stays. */
  letGo(): void {
    if (this.mayAsk) this.#tool = this.tool;
    this.request = undefined;
  }

  /** Who called; undefined: the gateway itself. */
  get caller(): Caller | undefined {
    return this.client && { client: this.client, request: this.request };
  }

  cancel(notice: Frame | undefined): void {
    this.#owner.cancel(this, notice);
  }

  follow(taskId: string, subscriber: TaskSubscriber, isMaker: boolean): TaskSubscription {
    return this.#owner.follow(taskId, subscriber, isMaker ? this : undefined);
  }
}
