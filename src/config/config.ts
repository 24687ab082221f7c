// The configuration as the rest of the program sees it: resolved, validated and frozen.
import type { AuthOptions } from '../auth/options.ts';
import type { Options } from '../base/options.ts';
import type { CatalogOptions } from '../catalog/catalog-options.ts';
import type { EndpointOptions } from '../catalog/endpoint-options.ts';
import type { ServerOptions } from '../upstream/options.ts';
import type { settingsSchema } from './schema.ts';

/** The whole configuration. Paths are absolute. */
export interface Config
  extends Omit<
    Options<typeof settingsSchema>,
    '$schema' | 'auth' | 'endpoints' | 'servers' | 'mcpServers'
  > {
  /** The file it came from; undefined for `sluice run`. */
  readonly file: string | undefined;
  /** undefined: `none`. */
  readonly auth: AuthOptions | undefined;
  /** What is shown of each server, by its name. */
  readonly catalogOptionsOf: ReadonlyMap<string, CatalogOptions>;
  /** Besides the default ones, unless `/` is among them. */
  readonly endpoints: readonly EndpointOptions[];
  /** In the order of the file. */
  readonly servers: readonly ServerOptions[];
}
