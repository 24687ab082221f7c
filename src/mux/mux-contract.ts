// What a mux gets, and what it reports to the owner of its connection.
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

/** Called by a mux. */
export interface MuxEvents {
  /**
   * The server sent a notification that is neither progress nor a cancellation.
   * @param about the caller on whose own stream it came, if the channel knows
   */
  notified(notification: Frame, about?: Caller): void;
  /** The server broke the protocol: a response is too large or malformed. */
  violated(what: string): void;
}

/** The clients of a server, as far as they are known beyond one connection. */
export interface Audience {
  /** Notes clients whose calls and tasks are over. */
  readonly recent: RecentCallers;
  readonly elicitations: ElicitationOwners;
  /** The only client of a private instance; undefined if there are several, or none. */
  readonly soleClient: Downstream | undefined;
}

/** The calls that wait for a server. */
export interface Waiting {
  /** Whether calls of other clients wait until this client answers server requests. */
  isAwaited(client: Downstream): boolean;
  /** A call is over, so another one can be sent. */
  pump(): void;
}

/** What a mux works with. */
export interface MuxParts {
  readonly channel: Channel;
  readonly events: MuxEvents;
  readonly audience: Audience;
  readonly queue: Waiting;
  /** Gets all results: some are lists, which clients have now seen. */
  readonly lists: { note(request: Frame, answer: Frame): void };
  readonly tools: InteractiveTools;
  readonly traffic: Traffic;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The configured answer to `roots/list`, as JSON text; undefined if clients answer it. */
  readonly staticRoots: Buffer | undefined;
}
