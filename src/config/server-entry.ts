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
import { isMap, section } from '../base/options.ts';
import { type Curation, curationKeys } from '../catalog/curation-options.ts';

/** An entry with a `command`. */
export const serverSchema = section({ ...serverKeys, ...curationKeys })
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
  section({ ...remoteServerKeys, ...curationKeys }).refine(
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
  entry: ServerEntry & Curation,
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
  entry: RemoteServerEntry & Curation,
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

function split<T extends Curation>(entry: T): [Omit<T, keyof Curation>, Curation] {
  const { tools, prompts, resources, pin, validateArguments, ...options } = entry;
  return [options, { tools, prompts, resources, pin, validateArguments }];
}
