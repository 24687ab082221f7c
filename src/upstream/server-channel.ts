// The channel of one life of a server, and who opens it: the composition root says how a server is
// reached, so that everything above the bytes can run without a process.
import type { FindOwner } from '../base/held-bytes.ts';
import type { TurnQuota } from '../base/turns.ts';
import type { Logger } from '../observe/logger.ts';
import type { Channel, ChannelEvents } from '../ports/channel.ts';
import type { Principal } from '../ports/principal.ts';
import type { ServerOptions } from './options.ts';

/** A channel with what is known of who is behind it. */
export interface ServerChannel extends Channel {
  /** Process id; undefined when there is no process. */
  readonly pid: number | undefined;
  /** What the server last said besides messages, to explain why it ended; may be empty. */
  readonly lastStderrLine: string;
  /** Which version of which program runs; absent where nobody knows. */
  readonly program?: string;
}

export interface ChannelParts {
  readonly events: ChannelEvents;
  /** What the messages of the server may cost in one turn of the event loop. */
  readonly quota: TurnQuota;
  readonly logger: Logger;
  /** Where what is held for the server counts. */
  readonly owner: FindOwner;
  /**
   * In whose name the gateway itself asks: whoever of those with equal credentials was seen last.
   * Absent, or undefined, for a server that everybody shares.
   */
  readonly principal?: (() => Principal | undefined) | undefined;
}

/**
 * Starts a server and connects to it. Failures are told through `closed`, but for those of what the
 * client has to bring.
 * @throws GatewayError when the client lacks something that the server is started with
 */
export type OpenChannel = (options: ServerOptions, parts: ChannelParts) => ServerChannel;
