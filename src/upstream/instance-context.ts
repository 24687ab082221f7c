// What an instance is given: its server's options, who it introduces, and what it shares with others.
import type { FindOwner, HeldBytes } from '../base/held-bytes.ts';
import type { InteractiveTools } from '../mux/interactive-tools.ts';
import type { Logger } from '../observe/logger.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Traffic } from '../observe/traffic.ts';
import type { FirstStarts } from './first-starts.ts';
import type { ClientIdentity } from './handshake.ts';
import type { KnownEra } from './known-era.ts';
import type { ServerOptions } from './options.ts';
import type { ProcessBudget, ProcessSlot } from './process-budget.ts';
import type { OpenChannel } from './server-channel.ts';

export interface InstanceContext {
  readonly options: ServerOptions;
  readonly isShared: boolean;
  readonly clientIdentity: ClientIdentity;
  readonly budget: ProcessBudget;
  /**
   * Takes a slot for a process; undefined where there is always one.
   * @throws GatewayError when there is none
   */
  readonly takeSlot: (() => ProcessSlot) | undefined;
  readonly tools: InteractiveTools;
  readonly era: KnownEra;
  readonly traffic: Traffic;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Where what is held for the server counts. */
  readonly owner: FindOwner;
  /** Where what is held for clients counts; absent where there is one client only. */
  readonly held?: HeldBytes | undefined;
  readonly openChannel: OpenChannel;
  readonly exposesDetails: boolean;
  /** Whether a server that refuses the gateway is tried again only when somebody asks for it. */
  readonly isTriedOnDemand?: boolean | undefined;
  readonly firstStarts: FirstStarts | undefined;
}
