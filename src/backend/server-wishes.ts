// What one server is told once for all of its clients: from which level on to log, and which
// resources to watch. A legacy server gets requests; a modern one keeps one listen stream that is
// opened anew when the wishes change (protocol.md 5.6).

import { INTERNAL_ERROR, type WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { isObject, type JsonObject, parseSpan } from '../jsonrpc/parse.ts';
import { tellsChanges } from '../mcp/capabilities.ts';
import { TASKS_EXTENSION } from '../mcp/meta.ts';
import { SET_LEVEL, SUBSCRIBE, UNSUBSCRIBE } from '../mcp/methods.ts';
import { taskOfTopic } from '../mcp/subscription.ts';
import type { ServerIdentity } from '../ports/seat.ts';

/** How wishes reach the server. */
export interface WishChannel {
  /** Makes a request; undefined when there was no answer. */
  request(method: string, params: JsonObject): Promise<Frame | undefined>;
  /**
   * Opens a stream that replaces the last one; resolves with what the server agreed to.
   * @param capabilities further ones that its client declares
   */
  listen(params: JsonObject, capabilities: JsonObject): Promise<JsonObject | undefined>;
}

/** Tells a server what its clients want. */
export interface ServerWishes {
  /** After a start: everything that is wanted now. */
  replay(level: string | undefined, uris: readonly string[]): Promise<void>;
  setLevel(level: string): Promise<WireError | undefined>;
  /** @param uris all that are wanted, `uri` among them */
  subscribe(uri: string, uris: readonly string[]): Promise<WireError | undefined>;
  /** @param uris all that are still wanted */
  unsubscribe(uri: string, uris: readonly string[]): Promise<WireError | undefined>;
}

const KNOWS_TASKS: JsonObject = { extensions: { [TASKS_EXTENSION]: {} } };
const NO_ANSWER: WireError = { code: INTERNAL_ERROR, message: 'The server did not answer.' };

/** The wishes of a server of either era. */
export function wishesOf(
  { era, capabilities }: ServerIdentity,
  channel: WishChannel,
): ServerWishes {
  return era === 'legacy' ? new LegacyWishes(channel) : new ModernWishes(channel, capabilities);
}

/** Wishes as requests of the session era. */
class LegacyWishes implements ServerWishes {
  readonly #channel: WishChannel;

  constructor(channel: WishChannel) {
    this.#channel = channel;
  }

  async replay(level: string | undefined, uris: readonly string[]): Promise<void> {
    // Written at once, before the first call: what is written first is read first.
    const leveled = level === undefined ? undefined : this.setLevel(level);
    await Promise.all([leveled, ...uris.map((uri) => this.subscribe(uri))]);
  }

  setLevel(level: string): Promise<WireError | undefined> {
    return this.#ask(SET_LEVEL, { level });
  }

  subscribe(uri: string): Promise<WireError | undefined> {
    return this.#ask(SUBSCRIBE, { uri });
  }

  unsubscribe(uri: string): Promise<WireError | undefined> {
    return this.#ask(UNSUBSCRIBE, { uri });
  }

  async #ask(method: string, params: JsonObject): Promise<WireError | undefined> {
    const answer = await this.#channel.request(method, params);
    if (answer === undefined) return NO_ANSWER;
    return answer.resultStart >= 0 ? undefined : errorOf(answer);
  }
}

/** Wishes as the filter of one listen stream. */
class ModernWishes implements ServerWishes {
  readonly #channel: WishChannel;
  readonly #flags: JsonObject;

  /**
   * @param capabilities what the server offers; only what it offers is asked for
   */
  constructor(channel: WishChannel, capabilities: JsonObject) {
    this.#channel = channel;
    this.#flags = Object.fromEntries(
      ['tools', 'prompts', 'resources']
        .filter((kind) => tellsChanges(capabilities[kind]))
        .map((kind) => [`${kind}ListChanged`, true]),
    );
  }

  async replay(_level: string | undefined, uris: readonly string[]): Promise<void> {
    await this.#listen(uris);
  }

  // A modern server takes the level from each request.
  setLevel(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async subscribe(uri: string, uris: readonly string[]): Promise<WireError | undefined> {
    const agreed = await this.#listen(uris);
    const taskId = taskOfTopic(uri);
    const accepted = agreed?.[taskId === undefined ? 'resourceSubscriptions' : 'taskIds'];
    if (Array.isArray(accepted) && accepted.includes(taskId ?? uri)) return undefined;
    return { code: INTERNAL_ERROR, message: 'The server does not watch this resource.' };
  }

  async unsubscribe(_uri: string, uris: readonly string[]): Promise<undefined> {
    await this.#listen(uris);
    return undefined;
  }

  async #listen(uris: readonly string[]): Promise<JsonObject | undefined> {
    if (uris.length === 0 && Object.keys(this.#flags).length === 0) return {};
    const resources = uris.filter((uri) => taskOfTopic(uri) === undefined);
    const taskIds = uris.map(taskOfTopic).filter((taskId) => taskId !== undefined);
    const notifications = {
      ...this.#flags,
      ...(resources.length > 0 ? { resourceSubscriptions: resources } : {}),
      ...(taskIds.length > 0 ? { taskIds } : {}),
    };
    return await this.#channel.listen({ notifications }, taskIds.length > 0 ? KNOWS_TASKS : {});
  }
}

function errorOf(answer: Frame): WireError {
  const error = parseSpan(answer.bytes, answer.errorStart, answer.errorEnd);
  const isError = isObject(error) && Number.isInteger(error['code']);
  if (!isError) {
    return { code: INTERNAL_ERROR, message: 'The server answered with an invalid error.' };
  }
  return error as unknown as WireError;
}
