// The subscriptions of one server of the session era: what it was told, and what it is to be told. The
// coming or going of one client can mean many requests, so these are sent some at a time, and neither
// the server nor the event loop gets them all at once. What was undone before it was sent is not sent.
import { LEAST_COST, TurnQuota, turnFor } from '../base/turns.ts';
import { INTERNAL_ERROR, type WireError } from '../jsonrpc/error.ts';

/** Requests of many that are not answered yet. */
const MAX_OPEN = 256;
/** Requests of many, to all servers, in one turn of the event loop. */
const IN_TURN = new TurnQuota(128 * LEAST_COST);

export type PacedMethod = 'subscribe' | 'unsubscribe';

/** Told of the answer: the server's error, or undefined. */
type OnAnswer = (error: WireError | undefined) => void;

interface WaitingRequest {
  readonly method: PacedMethod;
  readonly answered: OnAnswer;
}

export interface PacedRequestsContext {
  request(method: PacedMethod, uri: string): Promise<WireError | undefined>;
  /** Whether anybody watches a resource now. */
  isWanted(uri: string): boolean;
}

const UNDONE: WireError = {
  code: INTERNAL_ERROR,
  message: 'Nobody watches the resource any more.',
};

/** Subscribes and unsubscribes at one server. */
export class PacedRequests {
  readonly #context: PacedRequestsContext;
  /** What the server was told to watch, and its answer while that is not there. */
  readonly #told = new Map<string, Promise<WireError | undefined> | undefined>();
  /** By URI, the oldest first. */
  readonly #waiting = new Map<string, WaitingRequest>();
  #open = 0;
  #isSending = false;

  constructor(context: PacedRequestsContext) {
    this.#context = context;
  }

  /** Sends a request of a client's own now. */
  async send(method: PacedMethod, uri: string): Promise<WireError | undefined> {
    const isNew = method === 'subscribe';
    this.#undo(uri, isNew ? undefined : UNDONE);
    const answer = this.#context.request(method, uri);
    if (isNew) this.#told.set(uri, answer);
    else this.#told.delete(uri);
    const error = await answer;
    // It may have been told something else meanwhile.
    if (isNew && this.#told.get(uri) === answer) {
      if (error === undefined) this.#told.set(uri, undefined);
      else this.#told.delete(uri);
    }
    return error;
  }

  /** Subscribes when it is its turn; at once where few requests are open. */
  subscribe(uri: string, answered: OnAnswer): void {
    const isTold = this.#told.has(uri);
    const answer = this.#told.get(uri);
    this.#undo(uri, undefined);
    if (isTold && answer === undefined) answered(undefined);
    else if (answer !== undefined) void answer.then(answered);
    else this.#wait(uri, { method: 'subscribe', answered });
  }

  /** Unsubscribes when it is its turn, if the server knows of it at all. */
  unsubscribe(uri: string): void {
    this.#undo(uri, UNDONE);
    if (this.#told.has(uri)) {
      this.#wait(uri, { method: 'unsubscribe', answered: () => undefined });
    }
  }

  /** What waited for a resource is not sent. */
  #undo(uri: string, error: WireError | undefined): void {
    const waiting = this.#waiting.get(uri);
    this.#waiting.delete(uri);
    waiting?.answered(error);
  }

  #wait(uri: string, waiting: WaitingRequest): void {
    this.#waiting.set(uri, waiting);
    if (!this.#isSending) void this.#sendWaiting();
  }

  async #sendWaiting(): Promise<void> {
    this.#isSending = true;
    for (const [uri, waiting] of this.#waiting) {
      if (this.#open >= MAX_OPEN) break;
      const turn = turnFor(IN_TURN, uri.length);
      if (turn !== undefined) await turn;
      // It may have been undone meanwhile.
      if (this.#waiting.get(uri) === waiting) this.#sendOne(uri, waiting);
    }
    this.#isSending = false;
  }

  #sendOne(uri: string, { method, answered }: WaitingRequest): void {
    this.#waiting.delete(uri);
    const isWanted = this.#context.isWanted(uri);
    if (isWanted !== (method === 'subscribe')) {
      answered(isWanted ? undefined : UNDONE);
      return;
    }
    this.#open++;
    void this.send(method, uri).then((error) => {
      this.#open--;
      answered(error);
      if (!this.#isSending && this.#waiting.size > 0) void this.#sendWaiting();
    });
  }
}
