// A server, as a client's session or a modern request uses it.
import type { GatewayError } from '../base/errors.ts';
import type { WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import type { JsonObject } from '../jsonrpc/parse.ts';
import type { LoggingLevel } from '../mcp/log-levels.ts';
import type { Downstream } from './downstream.ts';
import type { Principal } from './principal.ts';
import type { Request } from './request.ts';

/**
 * What a server may announce as changed: its lists (templates belong to `resources`), and the contents of
 * resources.
 */
export type ListKind = 'tools' | 'prompts' | 'resources' | 'contents';

/** What a server said in the handshake. */
export interface ServerIdentity {
  /** The era of the handshake. */
  readonly era: 'legacy' | 'modern';
  /** The whole result of `initialize`, or of `server/discover`. */
  readonly handshakeResult: JsonObject;
  readonly capabilities: JsonObject;
  readonly version: string;
}

/** Called with the answer to the subscription to a resource: an error, or undefined. */
export type SubscribeAnswered = (uri: string, error: WireError | undefined) => void;

/** One client's right to use one instance of a server. */
export interface Lease {
  /** The server's name. */
  readonly server: string;
  /** Undefined before the first handshake, and for a plain JSON-RPC server. */
  readonly identity: ServerIdentity | undefined;
  /**
   * Identifies the instance and its generation. Changes when the process restarts, because its state is then
   * lost.
   */
  readonly at: string;
  /** Whether clients of other principals use the same instance. */
  readonly isShared: boolean;
  /** Whether the server failed and waits for its next start, so that no call should wait for it. */
  readonly isDown: boolean;
  /** Why the server can't be used now; undefined if it can. */
  readonly unavailableReason: GatewayError | undefined;
  /**
   * Resolves when the server can be used: its handshake was done at least once, and it will start if it has
   * to.
   * @throws GatewayError if it can't be started
   */
  ready(): Promise<void>;
  /**
   * Resolves when the server is running, even if it was stopped before.
   * @throws GatewayError if it can't be started
   */
  running(): Promise<void>;
  /** The least severity of log messages that the client wants; undefined if it has set none. */
  readonly severity: number | undefined;
  /** The resources that the client watches. */
  readonly watched: readonly string[];
  /** Called after each handshake. Must be set before `join`. */
  onUp: (() => void) | undefined;
  /** An object that identifies the state of a list. Changes whenever the server's list may have changed. */
  listKey(kind: ListKind): object;
  /**
   * Requests a page of a list, for the gateway itself.
   * @param cursor of the page; undefined: the first one
   * @returns the answer, or undefined if there was none in time
   */
  list(method: string, cursor: string | undefined): Promise<Frame | undefined>;
  /** Takes a request. It is always settled in the end. */
  dispatch(request: Request): void;
  /** Sends a notification. */
  notify(notification: Frame): void;
  /**
   * From now on the client gets what the server sends to all its clients.
   * @param level the least level of log messages that it wants; undefined: the server's default
   */
  join(level: LoggingLevel | undefined): Promise<void>;
  /**
   * Sets the least level of log messages for this client.
   * @returns the server's error, if it refused
   */
  setLevel(level: LoggingLevel): Promise<WireError | undefined>;
  /**
   * Subscribes the client to changes of a resource.
   * @returns the server's error, if it refused
   */
  subscribe(uri: string): Promise<WireError | undefined>;
  /**
   * The same for many resources, over several turns of the event loop.
   * @param answered called for each: with the server's error, or undefined
   * @returns resolves when all are answered
   */
  subscribeAll(uris: readonly string[], answered: SubscribeAnswered): Promise<void>;
  unsubscribe(uri: string): Promise<WireError | undefined>;
  /**
   * Subscribes the client to notifications about a task, until it leaves.
   * @param taskId the server's id
   * @returns the server's error, if it refused
   */
  watchTask(taskId: string): Promise<WireError | undefined>;
  /** Tells the client which lists are other ones than at another server in whose place this one is. */
  succeed(before: Lease): void;
  /** Ends the lease. */
  leave(): void;
}

/** A configured server. */
export interface Backend {
  readonly name: string;
  readonly protocol: 'mcp' | 'jsonrpc';
  /** Whether all clients share its instances. */
  readonly isShared: boolean;
  /**
   * A fingerprint of the credentials that the server is started or called with. Work that began with some
   * credentials must not be continued with a different fingerprint.
   */
  credentialFingerprint(principal: Principal): string;
  /**
   * Gives a client a lease of an instance, which is started if needed.
   * @throws GatewayError if no process may be started for it
   */
  acquire(client: Downstream): Lease;
  /**
   * Like `acquire`, but never starts an instance.
   * @returns undefined if there is none
   */
  acquireExisting(client: Downstream): Lease | undefined;
  /**
   * Gives a client a lease of a specific instance.
   * @param at the value of `Lease.at`
   * @returns undefined if this client's principal and credentials have no such instance
   */
  acquireById(client: Downstream, at: string): Lease | undefined;
}
