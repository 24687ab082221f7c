// What one server is told once for all its clients: the log level, and the resources to watch. A legacy
// server gets requests. A modern one has one listen stream, which is replaced when the subscriptions change
// (docs/protocol.md#listen-streams).

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

/** What all clients together have subscribed to. */
export interface DesiredSubscriptions {
  readonly uris: readonly string[];
  readonly taskIds: readonly string[];
}

/** How subscriptions reach the server. */
export interface SubscriptionChannel {
  /** The current subscriptions. */
  wanted(): DesiredSubscriptions;
  /** Whether a client watches a resource now. */
  isWanted(uri: string): boolean;
  /** Sends a request; undefined if there was no answer. */
  request(method: string, params: JsonObject): Promise<Frame | undefined>;
  /**
   * Opens a stream that replaces the last one. Resolves with what the server granted.
   * @param capabilities additional ones that the gateway declares
   */
  listen(params: JsonObject, capabilities: JsonObject): Promise<JsonObject | undefined>;
}

/** Tells a server the subscriptions of its clients. */
export interface UpstreamSubscriptions {
  /** After a start: all current subscriptions. */
  replay(level: string | undefined): Promise<void>;
  setLevel(level: string): Promise<WireError | undefined>;
  subscribe(uri: string): Promise<WireError | undefined>;
  /**
   * The same for many at once.
   * @param answered called for each: with the server's error, or undefined
   * @returns resolves when all are answered
   */
  subscribeAll(uris: readonly string[], answered: SubscribeAnswered): Promise<void>;
  unsubscribe(uri: string): Promise<WireError | undefined>;
  /** Nobody watches these any more. */
  unsubscribeAll(uris: readonly string[]): void;
  watchTask(taskId: string): Promise<WireError | undefined>;
  /** Nobody watches some tasks any more. */
  unwatchTasks(): Promise<void>;
}

/** Requests in flight, for many subscriptions. */
const MAX_OPEN = 256;
/** Such requests, to all servers, in one turn of the event loop. */
const IN_TURN = new TurnQuota(128 * LEAST_COST);

/** How long the next listen stream waits for the acknowledgement of the last one. */
const PACE_MS = 2_000;

/** Called with the answer: the server's error, or undefined. */
type OnAnswer = (error: WireError | undefined) => void;

interface WaitingRequest {
  readonly method: string;
  readonly answered: OnAnswer;
}

/** What a server granted. */
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
 * Subscriptions as legacy requests. One client can add or remove many, so only some are sent at a time;
 * neither the server nor the event loop gets all at once. A request that is undone before it was sent is not
 * sent.
 */
export class LegacySubscriptions implements UpstreamSubscriptions {
  readonly #channel: Omit<SubscriptionChannel, 'listen'>;
  /** What the server was told to watch, with its answer while that is awaited. */
  readonly #told = new Map<string, Promise<WireError | undefined> | undefined>();
  /** By URI, oldest first. */
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

  /** In their turn; at once if few requests are in flight. */
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

  /** In their turn, and only if the server knows of them. */
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
    // It may have been unsubscribed meanwhile.
    if (isNew && this.#told.get(uri) === answer) {
      if (error === undefined) this.#told.set(uri, undefined);
      else this.#told.delete(uri);
    }
    return error;
  }

  /** A waiting request for a resource is not sent. */
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
  /** The next stream, which will contain all subscriptions at that time. */
  #next: Promise<AgreedSubscriptions> | undefined;

  /** @param capabilities of the server; only what it offers is requested */
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

  // A modern server gets the level with each request.
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

  /** Each stream contains all subscriptions, so simultaneous changes become one. */
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
