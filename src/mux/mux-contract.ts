// What a mux is given, and what it tells the owner of its connection.
import type { Frame } from '../jsonrpc/frame.ts';
import type { Traffic } from '../observe/traffic.ts';
import type { Channel } from '../ports/channel.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Caller, Request } from '../ports/request.ts';
import type { InteractiveTools } from './interactive-tools.ts';
import type { RecentCallers } from './recent-callers.ts';

export interface MuxOptions {
  readonly server: string;
  readonly protocol: 'mcp' | 'jsonrpc';
  readonly requestMs: number;
  readonly requestMaxMs: number;
}

/** What the owner of a connection is told. */
export interface MuxEvents {
  /**
   * A notification of the server that is neither progress nor a cancel.
   * @param about whose request it is on whose own stream it came, where the channel knows
   */
  notified(notification: Frame, about?: Caller): void;
  /** A call is over: there is room for another. */
  settled(): void;
  /** Whether calls of other clients wait until this client's server requests are answered. */
  isAwaited(client: Downstream): boolean;
  /** A client's request was answered, with a result or an error of the server's. */
  answered(request: Request, answer: Frame): void;
  /** The server broke the protocol: an answer is too large, or is none. */
  violated(what: string): void;
  /** A call was answered with its id as a text: it fails. */
  misnamed(id: number): void;
  /** Something came that is no message; it was dropped. */
  dropped(what: string, text: Buffer): void;
}

/** What a mux works with. */
export interface MuxParts {
  readonly channel: Channel;
  readonly events: MuxEvents;
  readonly tools: InteractiveTools;
  readonly traffic: Traffic;
  /** Told whose calls and tasks are over. */
  readonly recent: RecentCallers;
}
