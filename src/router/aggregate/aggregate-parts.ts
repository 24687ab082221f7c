// What all clients of one endpoint share.
import type { Composer } from '../../catalog/composer.ts';
import type { WaitLimits } from '../../catalog/endpoint-options.ts';
import type { Logger } from '../../observe/logger.ts';
import type { ModernState } from '../../translate/modern-dispatcher.ts';
import type { Member } from './member.ts';
import type { SearchService } from './search-service.ts';
import type { ToolCalls } from './tool-calls.ts';
import type { Visibility } from './visibility.ts';

/** The inside of an endpoint with several servers. */
export interface AggregateParts {
  /** In the order of the configuration. */
  readonly members: readonly Member[];
  readonly composer: Composer;
  readonly waits: WaitLimits;
  readonly visibility: Visibility;
  readonly calls: ToolCalls;
  /** With `toolList: search`. */
  readonly search: SearchService | undefined;
  readonly state: ModernState;
  readonly logger: Logger;
  readonly gatewayVersion: string;
}
