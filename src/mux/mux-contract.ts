// What a mux is given, and what it tells the owner of its connection.
import type { Frame } from '../jsonrpc/frame.ts';
import type { Logger } from '../observe/logger.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Traffic } from '../observe/traffic.ts';
import type { Channel } from '../ports/channel.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Caller } from '../ports/request.ts';
import type { ElicitationOwners } from './elicitation-owners.ts';
import type { InteractiveTools } from './interactive-tools.ts';
import type { RecentCallers } from './recent-callers.ts';

export interface MuxOptions {
  readonly server: string;
  readonly protocol: 'mcp' | 'jsonrpc';
  /** As they are when a call begins. */
  readonly timeouts: { readonly request: number; readonly requestMax: number };
}

/** What the owner of a connection is told. */
export interface MuxEvents {
  /**
   * A notification of the server that is neither progress nor a cancel.
   * @param about whose request it is on whose own stream it came, where the channel knows
   */
  notified(notification: Frame, about?: Caller): void;
  /** The server broke the protocol: an answer is too large, or is none. */
  violated(what: string): void;
}

/** The clients of a server, as far as that outlives a connection. */
export interface Audience {
  /** Told whose calls and tasks are over. */
  readonly recent: RecentCallers;
  readonly elicitations: ElicitationOwners;
  /** The only client of a private instance that has one; undefined otherwise. */
  readonly soleClient: Downstream | undefined;
}

/** The calls that wait for a server. */
export interface Waiting {
  /** Whether calls of other clients wait until this client's server requests are answered. */
  isAwaited(client: Downstream): boolean;
  /** A call is over: there is room for another. */
  pump(): void;
}

/** What a mux works with. */
export interface MuxParts {
  readonly channel: Channel;
  readonly events: MuxEvents;
  readonly audience: Audience;
  readonly queue: Waiting;
  /** Told of results: some are lists, which clients know from then on. */
  readonly lists: { note(request: Frame, answer: Frame): void };
  readonly tools: InteractiveTools;
  readonly traffic: Traffic;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The answer to `roots/list` when the gateway has it, as JSON text. */
  readonly staticRoots: Buffer | undefined;
}
