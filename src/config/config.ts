// The validated configuration, as the rest of the program uses it. It never changes.
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
  /** The file; undefined for `sluice run` and `sluice connect`. */
  readonly file: string | undefined;
  /** Undefined: `none`. */
  readonly auth: AuthOptions | undefined;
  /** What is shown of each server, by server name. */
  readonly catalogOptionsOf: ReadonlyMap<string, CatalogOptions>;
  /** In addition to the default endpoint, unless `/` is one of them. */
  readonly endpoints: readonly EndpointOptions[];
  /** In the order of the file. */
  readonly servers: readonly ServerOptions[];
}
