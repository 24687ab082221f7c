// The configuration as the rest of the program sees it: resolved, validated and frozen.
import type { AdminOptions } from '../admin/options.ts';
import type { AuthOptions } from '../auth/options.ts';
import type { ProcessOptions, ServerOptions } from '../backend/options.ts';
import type { StateOptions } from '../bridge/options.ts';
import type { Curation } from '../catalog/curation-options.ts';
import type { EndpointOptions } from '../catalog/endpoint-options.ts';
import type { LimitOptions, ListenOptions, SessionOptions } from '../listener/options.ts';
import type { AuditOptions, LogOptions } from '../observe/options.ts';

/** The whole configuration. */
export interface Config {
  /** Absolute path of the file it came from; undefined for `sluice run`. */
  readonly file: string | undefined;
  readonly listen: ListenOptions;
  readonly admin: AdminOptions;
  readonly log: LogOptions;
  readonly audit: AuditOptions;
  readonly sessions: SessionOptions;
  readonly limits: LimitOptions;
  readonly processes: ProcessOptions;
  readonly state: StateOptions;
  /** How long a stop waits for calls in flight, in milliseconds. */
  readonly drainMs: number;
  /** undefined: `none`. */
  readonly auth: AuthOptions | undefined;
  /** What is shown of each server, by its name. */
  readonly curations: ReadonlyMap<string, Curation>;
  /** Besides the default ones, unless `/` is among them. */
  readonly endpoints: readonly EndpointOptions[];
  /** In the order of the file. */
  readonly servers: readonly ServerOptions[];
}
