// The schemas of one entry under `servers:`: how the server is run or reached, and what is shown of it.
import {
  FRAMING_NEEDS_JSONRPC,
  hasOwnFraming,
  hasRoomForReplicas,
  keepsPrincipalsApart,
  PRINCIPAL_NEEDS_PRIVATE,
  REMOTE_RULES,
  REPLICAS_NEED_SHARED,
  type RemoteServerEntry,
  remoteServer,
  remoteServerKeys,
  resolveServer,
  type ServerEntry,
  type ServerOptions,
  serverKeys,
} from '../backend/options.ts';
import { flag, isMap, section } from '../base/options.ts';
import { type Curation, curationKeys } from '../catalog/curation-options.ts';

/** Obeyed by who reads the servers: config/servers.ts. */
const switchKey = {
  disabled: flag().prefault(false).meta({
    description: 'Ignore this entry, as if it were not in the file.',
  }),
};

/** An entry with a `command`. */
export const serverSchema = section({ ...serverKeys, ...curationKeys, ...switchKey })
  .refine(hasRoomForReplicas, REPLICAS_NEED_SHARED)
  .refine(hasOwnFraming, FRAMING_NEEDS_JSONRPC)
  .refine(keepsPrincipalsApart, PRINCIPAL_NEEDS_PRIVATE)
  .refine((value) => isForMcp(value, 'tools'), needsMcp('tools'))
  .refine((value) => isForMcp(value, 'prompts'), needsMcp('prompts'))
  .refine((value) => isForMcp(value, 'resources'), needsMcp('resources'))
  .refine((value) => isForMcp(value, 'pin'), needsMcp('pin'))
  .refine((value) => isForMcp(value, 'validateArguments'), needsMcp('validateArguments'));

/** An entry with a `url`. */
export const remoteServerSchema = REMOTE_RULES.reduce(
  (schema, { holds, message }) => schema.refine(holds, message),
  section({ ...remoteServerKeys, ...curationKeys, ...switchKey }).refine(
    hasRoomForReplicas,
    REPLICAS_NEED_SHARED,
  ),
);

/** One entry, resolved. */
export interface ConfiguredServer {
  readonly server: ServerOptions;
  readonly curation: Curation;
}

/**
 * An entry with a command.
 * @param folder absolute; what relative paths start at
 */
export function ownServer(
  name: string,
  entry: ServerEntry & Switched,
  folder: string,
): ConfiguredServer {
  const [options, curation] = split(entry);
  return { server: resolveServer(name, options, folder), curation };
}

/**
 * An entry with a URL.
 * @param folder absolute; what relative paths start at
 */
export function farServer(
  name: string,
  entry: RemoteServerEntry & Switched,
  folder: string,
): ConfiguredServer {
  const [options, curation] = split(entry);
  return { server: remoteServer(name, options, folder), curation };
}

// A key that says nothing may stand with any protocol.
function isForMcp(
  value: { readonly protocol?: string } & Partial<Curation>,
  key: keyof Curation,
): boolean {
  return value.protocol !== 'jsonrpc' || value[key] === undefined || value[key] === 'off';
}

function needsMcp(key: keyof Curation) {
  const error = 'is about MCP, and the server speaks plain JSON-RPC: must not be there';
  return { path: [key], when: isMap, error };
}

type Switched = Curation & { readonly disabled: boolean };

function split<T extends Switched>(entry: T): [Omit<T, keyof Switched>, Curation] {
  const { tools, prompts, resources, pin, validateArguments, disabled: _, ...options } = entry;
  return [options, { tools, prompts, resources, pin, validateArguments }];
}
