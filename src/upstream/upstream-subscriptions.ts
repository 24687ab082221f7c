// What one server is told once for all of its clients: from which level on to log, and which
// resources to watch. A legacy server gets requests; a modern one keeps one listen stream that is
// opened anew when the subscriptions change (docs/protocol.md#listen-streams).

import { afterInput, within } from '../base/clock.ts';
import { LEAST_COST, TurnQuota, turnFor } from '../base/turns.ts';
import type { WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { type JsonObject, parseError } from '../jsonrpc/parse.ts';
import { tellsChanges } from '../mcp/capabilities.ts';
import { ERRORS } from '../mcp/errors.ts';
import { TASKS_EXTENSION } from '../mcp/meta.ts';
import { SET_LEVEL, SUBSCRIBE, UNSUBSCRIBE } from '../mcp/methods.ts';
import type { ServerIdentity, SubscribeAnswered } from '../ports/lease.ts';

/** What all clients together want to be told of. */
export interface DesiredSubscriptions {
  readonly uris: readonly string[];
  readonly taskIds: readonly string[];
}

/** How subscriptions reach the server. */
export interface SubscriptionChannel {
  /** What is wanted now. */
  wanted(): DesiredSubscriptions;
  /** Whether anybody watches a resource now. */
  isWanted(uri: string): boolean;
  /** Makes a request; undefined when there was no answer. */
  request(method: string, params: JsonObject): Promise<Frame | undefined>;
  /**
   * Opens a stream that replaces the last one; resolves with what the server agreed to.
   * @param capabilities further ones that its client declares
   */
  listen(params: JsonObject, capabilities: JsonObject): Promise<JsonObject | undefined>;
}

/** Tells a server what its clients want. */
export interface UpstreamSubscriptions {
  /** After a start: everything that is wanted now. */
  replay(level: string | undefined): Promise<void>;
  setLevel(level: string): Promise<WireError | undefined>;
  subscribe(uri: string): Promise<WireError | undefined>;
  /**
   * The same for many at once.
   * @param answered told of each: the server's error, or undefined
   * @returns when all were answered
   */
  subscribeAll(uris: readonly string[], answered: SubscribeAnswered): Promise<void>;
  unsubscribe(uri: string): Promise<WireError | undefined>;
  /** Nobody watches these any more. */
  unsubscribeAll(uris: readonly string[]): void;
  watchTask(taskId: string): Promise<WireError | undefined>;
  /** Nobody wants to know of some tasks any more. */
  unwatchTasks(): Promise<void>;
}

/** Requests of many that are not answered yet. */
const MAX_OPEN = 256;
/** Requests of many, to all servers, in one turn of the event loop. */
const IN_TURN = new TurnQuota(128 * LEAST_COST);

/** How long the next listen stream waits for the server to agree to the last one. */
const PACE_MS = 2_000;

/** Told of the answer: the server's error, or undefined. */
type OnAnswer = (error: WireError | undefined) => void;

interface WaitingRequest {
  readonly method: string;
  readonly answered: OnAnswer;
}

/** What a server agreed to. */
interface AgreedSubscriptions {
  readonly uris: ReadonlySet<unknown>;
  readonly taskIds: ReadonlySet<unknown>;
}

const NOTHING: AgreedSubscriptions = { uris: new Set(), taskIds: new Set() };
const KNOWS_TASKS: JsonObject = { extensions: { [TASKS_EXTENSION]: {} } };

/** The subscriptions of a server of either era. */
export function upstreamSubscriptionsOf(
  { era, capabilities }: ServerIdentity,
  channel: SubscriptionChannel,
): UpstreamSubscriptions {
  return era === 'legacy'
    ? new LegacySubscriptions(channel)
    : new ModernSubscriptions(channel, capabilities);
}

/**
 * Subscriptions as requests of the session era. The coming or going of one client can mean many, so these are sent
 * some at a time, and neither the server nor the event loop gets them all at once. What was undone before it was
 * sent is not sent.
 */
export class LegacySubscriptions implements UpstreamSubscriptions {
  readonly #channel: Omit<SubscriptionChannel, 'listen'>;
  /** What the server was told to watch, and its answer while that is not there. */
  readonly #told = new Map<string, Promise<WireError | undefined> | undefined>();
  /** By URI, the oldest first. */
  readonly #waiting = new Map<string, WaitingRequest>();
  #open = 0;
  #isSending = false;

  constructor(channel: Omit<SubscriptionChannel, 'listen'>) {
    this.#channel = channel;
  }

  async replay(level: string | undefined): Promise<void> {
    const { uris } = this.#channel.wanted();
    // Written at once, before the first call: what is written first is read first.
    const leveled = level === undefined ? undefined : this.setLevel(level);
    await Promise.all([leveled, this.subscribeAll(uris, () => undefined)]);
  }

  setLevel(level: string): Promise<WireError | undefined> {
    return this.#ask(SET_LEVEL, { level });
  }

  subscribe(uri: string): Promise<WireError | undefined> {
    return this.#send(SUBSCRIBE, uri);
  }

  /** When it is their turn; at once where few requests are open. */
  subscribeAll(uris: readonly string[], answered: SubscribeAnswered): Promise<void> {
    let left = uris.length;
    if (left === 0) return Promise.resolve();
    return new Promise((resolve) => {
      for (const uri of uris) {
        this.#subscribe(uri, (error) => {
          answered(uri, error);
          if (--left === 0) resolve();
        });
      }
    });
  }

  unsubscribe(uri: string): Promise<WireError | undefined> {
    return this.#send(UNSUBSCRIBE, uri);
  }

  /** When it is their turn, if the server knows of them at all. */
  unsubscribeAll(uris: readonly string[]): void {
    for (const uri of uris) {
      this.#undo(uri, ERRORS.watchedByNobody);
      if (!this.#told.has(uri)) continue;
      this.#wait(uri, { method: UNSUBSCRIBE, answered: () => undefined });
    }
  }

  watchTask(): Promise<WireError> {
    return Promise.resolve(ERRORS.noTaskStream);
  }

  unwatchTasks(): Promise<void> {
    return Promise.resolve();
  }

  #subscribe(uri: string, answered: OnAnswer): void {
    const isTold = this.#told.has(uri);
    const answer = this.#told.get(uri);
    this.#undo(uri, undefined);
    if (isTold && answer === undefined) answered(undefined);
    else if (answer !== undefined) void answer.then(answered);
    else this.#wait(uri, { method: SUBSCRIBE, answered });
  }

  /** Sends a request now. */
  async #send(method: string, uri: string): Promise<WireError | undefined> {
    const isNew = method === SUBSCRIBE;
    this.#undo(uri, isNew ? undefined : ERRORS.watchedByNobody);
    const answer = this.#ask(method, { uri });
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
    const isWanted = this.#channel.isWanted(uri);
    if (isWanted !== (method === SUBSCRIBE)) {
      answered(isWanted ? undefined : ERRORS.watchedByNobody);
      return;
    }
    this.#open++;
    void this.#send(method, uri).then((error) => {
      this.#open--;
      answered(error);
      if (!this.#isSending && this.#waiting.size > 0) void this.#sendWaiting();
    });
  }

  async #ask(method: string, params: JsonObject): Promise<WireError | undefined> {
    const answer = await this.#channel.request(method, params);
    if (answer === undefined) return ERRORS.serverSilent;
    return answer.resultStart >= 0 ? undefined : errorOf(answer);
  }
}

/** Subscriptions as the filter of one listen stream. */
class ModernSubscriptions implements UpstreamSubscriptions {
  readonly #channel: SubscriptionChannel;
  readonly #flags: JsonObject;
  #last: Promise<AgreedSubscriptions> = Promise.resolve(NOTHING);
  /** The one to be opened next, with all that is wanted by then. */
  #next: Promise<AgreedSubscriptions> | undefined;

  /**
   * @param capabilities what the server offers; only what it offers is asked for
   */
  constructor(channel: SubscriptionChannel, capabilities: JsonObject) {
    this.#channel = channel;
    this.#flags = Object.fromEntries(
      ['tools', 'prompts', 'resources']
        .filter((kind) => tellsChanges(capabilities[kind]))
        .map((kind) => [`${kind}ListChanged`, true]),
    );
  }

  // At once: what is written first is read first.
  async replay(): Promise<void> {
    await this.#open();
  }

  // A modern server takes the level from each request.
  setLevel(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async subscribe(uri: string): Promise<WireError | undefined> {
    return (await this.#listen()).uris.has(uri) ? undefined : ERRORS.notWatched;
  }

  async subscribeAll(uris: readonly string[], answered: SubscribeAnswered): Promise<void> {
    const agreed = await this.#listen();
    for (const uri of uris) answered(uri, agreed.uris.has(uri) ? undefined : ERRORS.notWatched);
  }

  async unsubscribe(): Promise<undefined> {
    await this.#listen();
    return undefined;
  }

  unsubscribeAll(uris: readonly string[]): void {
    if (uris.length > 0) void this.#listen();
  }

  async watchTask(taskId: string): Promise<WireError | undefined> {
    return (await this.#listen()).taskIds.has(taskId) ? undefined : ERRORS.notWatched;
  }

  async unwatchTasks(): Promise<void> {
    await this.#listen();
  }

  /** Each stream names all that is wanted, so changes that come together become one. */
  #listen(): Promise<AgreedSubscriptions> {
    this.#next ??= this.#openNext();
    return this.#next;
  }

  async #openNext(): Promise<AgreedSubscriptions> {
    await within(PACE_MS, this.#last);
    await new Promise<void>((resolve) => {
      afterInput(resolve);
    });
    this.#next = undefined;
    return await this.#open();
  }

  #open(): Promise<AgreedSubscriptions> {
    this.#last = this.#ask();
    return this.#last;
  }

  async #ask(): Promise<AgreedSubscriptions> {
    const { uris, taskIds } = this.#channel.wanted();
    const hasFlags = Object.keys(this.#flags).length > 0;
    if (uris.length + taskIds.length === 0 && !hasFlags) return NOTHING;
    const notifications = {
      ...this.#flags,
      ...(uris.length > 0 ? { resourceSubscriptions: uris } : {}),
      ...(taskIds.length > 0 ? { taskIds } : {}),
    };
    const declared = taskIds.length > 0 ? KNOWS_TASKS : {};
    const agreed = await this.#channel.listen({ notifications }, declared);
    return { uris: setOf(agreed?.['resourceSubscriptions']), taskIds: setOf(agreed?.['taskIds']) };
  }
}

function setOf(list: unknown): ReadonlySet<unknown> {
  return new Set(Array.isArray(list) ? list : []);
}

function errorOf(answer: Frame): WireError {
  const error = parseError(answer);
  if (!Number.isInteger(error?.['code'])) {
    return ERRORS.serverErrorInvalid;
  }
  return error as unknown as WireError;
}
