// One request at a server. The server's answer, progress and server requests are matched with it. Only mux.ts
// makes and changes it.
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

/** What a call needs from its mux. */
export interface CallOwner {
  cancel(call: Call, notice: Frame | undefined): void;
  follow(taskId: string, subscriber: TaskSubscriber, maker: Call | undefined): TaskSubscription;
}

/** Gets the answer to a request of the gateway itself; undefined if there is none. */
export type OwnAnswer = (answer: Frame | undefined) => void;

/** One request at a server. */
export class Call implements Canceller {
  /** The id that the server sees; never reused on a connection. */
  readonly id: number;
  /** The caller; undefined for the gateway's own requests. */
  readonly client: Downstream | undefined;
  /** Set while a caller waits for the answer. Afterwards nothing of the request is kept in memory. */
  request: Request | undefined;
  /** Whether the server is modern, so that it sends no requests. */
  readonly isStateless: boolean;
  readonly onAnswer: OwnAnswer | undefined;
  /** Whether the server may send requests during this call. */
  mayAsk = false;
  /** The called tool, if it is known or suspected to be interactive. */
  interactiveTool: string | undefined = undefined;
  /** The server has sent a request during this call, or may have. */
  hasAsked = false;
  /** How long it may take without an answer or progress, in milliseconds. */
  readonly limitMs: number;
  /** When an answer or progress must come, in monotonic milliseconds. */
  deadlineMs: number;
  /** When the answer must come, whatever the progress. */
  readonly lastDeadlineMs: number;
  /** When it was abandoned: nobody waits, but the server may still work on it and send requests. */
  abandonedAtMs: number | undefined = undefined;
  /** Since when the server is known to have read the cancellation; undefined if it is not known. */
  cancelSeenAtMs: number | undefined = undefined;
  /** The last progress value that was passed on; the values must increase. */
  progress = Number.NEGATIVE_INFINITY;
  /**
   * The number of server requests of this call that the client has not answered. Meanwhile the deadline does
   * not run.
   */
  openServerRequests = 0;
  /** When the first of those was sent to the client. */
  askedAtMs = 0;
  /** The server answered with the id as a string. */
  isMisnamed = false;
  readonly #owner: CallOwner;
  #tool: string | undefined;
  #token: Buffer | undefined;

  /**
   * @param origin a client's request, or the function that gets the answer to a request of the gateway
   * @param lastDeadlineMs also the first value of `deadlineMs`
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

  /** The called tool; undefined if it calls none. */
  get tool(): string | undefined {
    return this.request === undefined ? this.#tool : toolOf(this.request.frame);
  }

  /** The caller's progress token, as it was sent. */
  get token(): Buffer | undefined {
    if (this.request === undefined) return this.#token;
    const { frame } = this.request;
    return frame.slice(frame.tokenStart, frame.tokenEnd);
  }

  /** Keeps the progress token after the answer, because the task that the call made goes on. */
  keepToken(): void {
    const { token } = this;
    this.#token = token && Buffer.from(token);
  }

  /** Nobody waits for the answer any more. Keeps only what is needed to attribute server requests. */
  letGo(): void {
    if (this.mayAsk) this.#tool = this.tool;
    this.request = undefined;
  }

  /** The caller; undefined for the gateway itself. */
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
