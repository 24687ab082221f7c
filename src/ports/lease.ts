// A server as a client's session, or one modern request, sees it.
import type { GatewayError } from '../base/errors.ts';
import type { WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import type { JsonObject } from '../jsonrpc/parse.ts';
import type { LoggingLevel } from '../mcp/log-levels.ts';
import type { Downstream } from './downstream.ts';
import type { Principal } from './principal.ts';
import type { Request } from './request.ts';

/**
 * What a server may say has changed: its lists (templates belong to `resources`), and what is in its
 * resources.
 */
export type ListKind = 'tools' | 'prompts' | 'resources' | 'contents';

/** What a server said of itself in the handshake. */
export interface ServerIdentity {
  /** Which handshake it was. */
  readonly era: 'legacy' | 'modern';
  /** The whole result of `initialize`, or of `server/discover`. */
  readonly handshakeResult: JsonObject;
  readonly capabilities: JsonObject;
  readonly version: string;
}

/** Told of the answer to the subscription to a resource: an error, or undefined. */
export type SubscribeAnswered = (uri: string, error: WireError | undefined) => void;

/** The right of one client to use one instance of a server. */
export interface Lease {
  /** Name of the server. */
  readonly server: string;
  /** Undefined before the first handshake, and for a server that does not speak MCP. */
  readonly identity: ServerIdentity | undefined;
  /**
   * Which of the server's instances it is at, and in which generation: after a restart of a process
   * it has another name, since nothing of before is there any more.
   */
  readonly at: string;
  /** Whether clients of other principals are at the same instance. */
  readonly isShared: boolean;
  /** Whether the server failed and waits for its next start: nobody should wait for it now. */
  readonly isDown: boolean;
  /** Why the server can't be used now; undefined while it can. */
  readonly unavailableReason: GatewayError | undefined;
  /**
   * Resolves when the server can be used: its handshake was done once, and it starts if it has to.
   * @throws GatewayError when it can't be started
   */
  ready(): Promise<void>;
  /**
   * Resolves when the server runs, also when it was stopped meanwhile.
   * @throws GatewayError when it can't be started
   */
  running(): Promise<void>;
  /** Least severity of log messages that the client wants; undefined while it has set none. */
  readonly severity: number | undefined;
  /** The resources that the client watches. */
  readonly watched: readonly string[];
  /** Told each time that a handshake is done. Set before `join`. */
  onUp: (() => void) | undefined;
  /** Another object whenever that of the server may be another one. */
  listKey(kind: ListKind): object;
  /**
   * Asks the server for a page of a list, in the gateway's own name.
   * @param cursor of the page; undefined: the first one
   * @returns the answer, or undefined when there was none in time
   */
  list(method: string, cursor: string | undefined): Promise<Frame | undefined>;
  /** Takes a request; it is always settled in the end. */
  dispatch(request: Request): void;
  /** Takes a notification. */
  notify(notification: Frame): void;
  /**
   * From now on the client gets what the server tells all of its clients.
   * @param level least severe log messages that it wants; undefined: what the server chooses
   */
  join(level: LoggingLevel | undefined): Promise<void>;
  /**
   * Wants log messages from this level on.
   * @returns the error of a server that refused
   */
  setLevel(level: LoggingLevel): Promise<WireError | undefined>;
  /**
   * Wants to be told of changes of a resource.
   * @returns the error of a server that refused
   */
  subscribe(uri: string): Promise<WireError | undefined>;
  /**
   * The same for many resources, in several turns of the event loop.
   * @param answered told of each: the error of a server that refused, or undefined
   * @returns when all were answered
   */
  subscribeAll(uris: readonly string[], answered: SubscribeAnswered): Promise<void>;
  unsubscribe(uri: string): Promise<WireError | undefined>;
  /**
   * Wants to be told of a task, until it leaves.
   * @param taskId as the server knows it
   * @returns the error of a server that refused
   */
  watchTask(taskId: string): Promise<WireError | undefined>;
  /** Tells the client which lists are other ones than at another server in whose place this one is. */
  succeed(before: Lease): void;
  /** The client is done. */
  leave(): void;
}

/** A configured server. */
export interface Backend {
  readonly name: string;
  readonly protocol: 'mcp' | 'jsonrpc';
  /** Whether all clients share its instances. */
  readonly isShared: boolean;
  /**
   * What of a principal's credentials the server is started or called with. What some credentials
   * began, others with another text must not go on with.
   */
  credentialFingerprint(principal: Principal): string;
  /**
   * Gives a client a lease at one of the server's instances, starting one if needed.
   * @throws GatewayError when no process may be started for it
   */
  acquire(client: Downstream): Lease;
  /**
   * The same, but starts none.
   * @returns undefined when there is none yet
   */
  acquireExisting(client: Downstream): Lease | undefined;
  /**
   * Gives a client a lease at a certain instance, as `Lease.at` names it.
   * @returns undefined when there is none of that name for this client's principal and credentials
   */
  acquireById(client: Downstream, at: string): Lease | undefined;
}
