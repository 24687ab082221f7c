// The channel of one life of a server, and who opens it: the composition root says how a server is
// reached, so that everything above the bytes can run without a process.
import type { Logger } from '../observe/logger.ts';
import type { Channel, ChannelEvents } from '../ports/channel.ts';
import type { ServerOptions } from './options.ts';

/** A channel with what is known of who is behind it. */
export interface ServerChannel extends Channel {
  /** Process id; undefined when there is no process. */
  readonly pid: number | undefined;
  /** What the server last said besides messages, to explain why it ended; may be empty. */
  readonly lastWords: string;
}

/** Starts a server and connects to it. Failures are told through `closed`, never thrown. */
export type OpenChannel = (
  options: ServerOptions,
  parts: { readonly events: ChannelEvents; readonly logger: Logger },
) => ServerChannel;
