// The schemas of one entry under `servers`: how the server is run or reached, and what is shown of it.
import { flag, type Rule, section, split, withRules } from '../base/options.ts';
import { type CatalogOptions, catalogKeys } from '../catalog/catalog-options.ts';
import {
  REMOTE_RULES,
  type RemoteServerEntry,
  remoteServer,
  remoteServerKeys,
  resolveServer,
  SERVER_RULES,
  type ServerEntry,
  type ServerOptions,
  serverKeys,
} from '../upstream/options.ts';

const ownKeys = {
  ...catalogKeys,
  /** config/servers.ts obeys it. */
  disabled: flag().prefault(false).describe('Ignore this entry, as if it were not in the file.'),
};

/** An entry with a `command`. */
export const serverSchema = withRules(section({ ...serverKeys, ...ownKeys }), [
  ...SERVER_RULES,
  needsMcp('tools'),
  needsMcp('prompts'),
  needsMcp('resources'),
  needsMcp('pin'),
  needsMcp('validateArguments'),
]);

/** An entry with a `url`. */
export const remoteServerSchema = withRules(
  section({ ...remoteServerKeys, ...ownKeys }),
  REMOTE_RULES,
);

/** A resolved entry. */
export interface ConfiguredServer {
  readonly server: ServerOptions;
  readonly catalogOptions: CatalogOptions;
}

type SwitchedEntry = CatalogOptions & { readonly disabled: boolean };

/**
 * Resolves an entry of either kind.
 * @param folder absolute; the base of relative paths
 */
export function configuredServer(
  name: string,
  entry: (ServerEntry | RemoteServerEntry) & SwitchedEntry,
  folder: string,
): ConfiguredServer {
  const [{ disabled: _, ...catalogOptions }, options] = split(entry, ownKeys);
  const server =
    'url' in options
      ? remoteServer(name, options as RemoteServerEntry, folder)
      : resolveServer(name, options as ServerEntry, folder);
  return { server, catalogOptions };
}

// A key without a value is allowed with any protocol.
function needsMcp(
  key: keyof CatalogOptions,
): Rule<{ readonly protocol?: string } & { readonly [Key in keyof CatalogOptions]?: unknown }> {
  return {
    at: key,
    holds: (value) =>
      value.protocol !== 'jsonrpc' || value[key] === undefined || value[key] === 'off',
    error: 'is about MCP, and the server speaks plain JSON-RPC: must not be there',
  };
}
