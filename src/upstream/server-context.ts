// What a configured server gets, and what its instances share.
import type { FindOwner, HeldBytes } from '../base/held-bytes.ts';
import type { InteractiveTools } from '../mux/interactive-tools.ts';
import type { Logger } from '../observe/logger.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Traffic } from '../observe/traffic.ts';
import type { OpenChannel } from './kinds.ts';
import type { KnownEra } from './known-era.ts';
import type { ServerOptions } from './options.ts';
import type { ProcessBudget } from './process-budget.ts';
import type { FirstStarts } from './restarts.ts';

/** What of the configuration is not a server's own. */
export interface CommonOptions {
  /**
   * How long unused sessions are kept, and private instances of clients without sessions, in milliseconds.
   */
  readonly sessionIdleMs: number;
  /** Whether callers run the gateway themselves, and may know everything about a failing server. */
  readonly exposesDetails: boolean;
}

export interface BackendParts {
  readonly budget: ProcessBudget;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Counts held bytes of servers and clients; absent: without limit. */
  readonly held?: HeldBytes | undefined;
  readonly openChannel: OpenChannel;
  readonly gatewayVersion: string;
  /** What the servers obey of the configuration of all: as it is now, so to be looked up each time. */
  readonly common: CommonOptions;
  /** Whether a server that refuses the gateway is tried again only for a call. */
  readonly isTriedOnDemand?: boolean;
  /** Counts failed starts, if a server that is never ready ends the gateway. */
  readonly firstStarts?: FirstStarts | undefined;
}

/** One configured server, as its instances see it. */
export interface ServerContext extends BackendParts {
  /** Timeouts and limits are as they are now: the backend changes them in place. */
  readonly options: ServerOptions;
  readonly isShared: boolean;
  readonly tools: InteractiveTools;
  readonly era: KnownEra;
  readonly traffic: Traffic;
  /** Counts the bytes that are held for the server. */
  readonly owner: FindOwner;
}
