// Raw values (from a file, or from the flags of `sluice run`) to the frozen Config. Knows shapes and
// rules; knows no file and no positions, only paths.
import { isAbsolute, resolve } from 'node:path';
import type { AdminOptions } from '../admin/options.ts';
import { type AuthOptions, authSchema } from '../auth/options.ts';
import { isTokenExchange } from '../backend/options.ts';
import type { ListenOptions } from '../listener/options.ts';
import type { AuditOptions } from '../observe/options.ts';
import { unknownServers } from './access-rules.ts';
import { readableFiles } from './child-access.ts';
import { missingProofs } from './client-proofs.ts';
import type { Config } from './config.ts';
import { readEndpoints } from './endpoints.ts';
import { riskyOptions, unsafeOptions } from './exposure.ts';
import { type NamedEntry, readHostServers } from './host-file.ts';
import { type ConfigPath, describe, type Fault, faultsOf } from './issues.ts';
import { SERVER_NAME, settingsSchema } from './schema.ts';
import {
  type ConfiguredServer,
  farServer,
  ownServer,
  remoteServerSchema,
  serverSchema,
} from './server-entry.ts';

/** What the raw values are resolved against. */
export interface ResolveContext {
  /** Absolute path of the file, if there is one. */
  readonly file: string | undefined;
  /** Absolute; relative paths start here. */
  readonly folder: string;
  /** Says that the value at a path must not be shown in messages. */
  readonly isHidden: (path: ConfigPath) => boolean;
}

/** Either a configuration, or at least one fault. */
export interface Resolution {
  readonly config: Config | undefined;
  readonly faults: readonly Fault[];
  readonly warnings: readonly Fault[];
  /** Where the entry of each server stands. */
  readonly places: ReadonlyMap<string, ConfigPath>;
}

/**
 * Validates raw values and fills in every default.
 *
 * @param raw what the file says
 * @param context what to resolve against
 * @returns the configuration or all faults
 */
export function resolveConfig(raw: unknown, context: ResolveContext): Resolution {
  if (!isRecord(raw)) {
    const there = raw === null ? 'is empty' : `is ${describe(raw, context.isHidden([]))}`;
    const message = `the file ${there}, must be a map with servers, see config/sluice.example.yaml`;
    return {
      config: undefined,
      faults: [{ path: [], at: 'value', message }],
      warnings: [],
      places: new Map(),
    };
  }
  const faults: Fault[] = [];
  const warnings: Fault[] = [];
  const document = 'mcpServers' in raw ? withoutHostKeys(raw, warnings) : raw;
  const settings = settingsSchema.safeParse(document);
  if (!settings.success) {
    faults.push(...faultsOf(settings.error.issues, [], document, context.isHidden));
  }
  const auth = readAuth(document['auth'], faults, context);
  const listen = settings.data?.listen ?? document['listen'];
  faults.push(...unsafeOptions(isRecord(listen) ? listen : {}, auth));
  const found = findEntries(document, faults, warnings, context);
  const places = new Map(found.map(({ name, path }) => [name, path]));
  const entries = found.flatMap((entry) => readEntry(entry, faults, context));
  const servers = entries.map(({ server }) => server);
  const endpoints = readEndpoints(settings.data?.endpoints ?? {}, servers, faults);
  if (auth !== 'unclear') {
    const idle = unknownServers(auth, places);
    faults.push(...missingProofs(servers, auth), ...idle.faults);
    warnings.push(...idle.warnings);
  }
  if (settings.data === undefined || auth === 'unclear' || faults.length > 0) {
    return { config: undefined, faults, warnings, places };
  }
  const { file } = context;
  const keepsTokens = servers.some(isTokenExchange);
  const { drain, auth: _, servers: __, mcpServers: ___, $schema: ____, ...rest } = settings.data;
  const config: Config = {
    ...withAbsolutePaths({ ...rest, auth: auth && { ...auth, keepsTokens } }, context.folder),
    file,
    drainMs: drain,
    endpoints,
    servers,
    curations: new Map(entries.map(({ server, curation }) => [server.name, curation])),
  };
  warnings.push(...riskyOptions(config), ...readableFiles(config));
  return { config: deepFreeze(config), faults, warnings, places };
}

/** The two forms of `auth`: `none`, or a map. */
function readAuth(
  raw: unknown,
  faults: Fault[],
  context: ResolveContext,
): AuthOptions | 'unclear' | undefined {
  if (raw === undefined || raw === 'none') return undefined;
  const path = ['auth'];
  if (!isRecord(raw)) {
    const message = `is ${describe(raw, context.isHidden(path))}, must be none or a map of options`;
    faults.push({ path, at: 'value', message });
    return 'unclear';
  }
  const parsed = authSchema.safeParse(raw);
  if (parsed.success) return parsed.data;
  faults.push(...faultsOf(parsed.error.issues, path, raw, context.isHidden));
  return 'unclear';
}

interface WithPaths {
  readonly listen: ListenOptions;
  readonly admin: AdminOptions;
  readonly audit: AuditOptions;
  readonly auth: AuthOptions | undefined;
}

function withAbsolutePaths<T extends WithPaths>(options: T, folder: string): T {
  const { listen, admin, audit, auth } = options;
  const path = (given: string): string => (isAbsolute(given) ? given : resolve(folder, given));
  const optional = (given: string | undefined): string | undefined =>
    given === undefined ? undefined : path(given);
  const { tls } = listen;
  return {
    ...options,
    listen: {
      ...listen,
      tls: tls && {
        ...tls,
        cert: path(tls.cert),
        key: path(tls.key),
        clientCa: optional(tls.clientCa),
      },
    },
    admin: { ...admin, socket: optional(admin.socket) },
    audit: { ...audit, to: audit.to === 'stdout' ? 'stdout' : optional(audit.to) },
    auth: auth && { ...auth, keyFile: optional(auth.keyFile) },
  };
}

// A host's file has keys of its own at the top; they are nobody's mistake.
function withoutHostKeys(raw: Record<string, unknown>, warnings: Fault[]): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(raw)) {
    if (Object.hasOwn(settingsSchema.shape, key)) {
      kept[key] = value;
    } else {
      warnings.push({ path: [key], at: 'key', message: 'is not an option here: ignored' });
    }
  }
  return kept;
}

function findEntries(
  raw: Readonly<Record<string, unknown>>,
  faults: Fault[],
  warnings: Fault[],
  context: ResolveContext,
): readonly NamedEntry[] {
  if ('servers' in raw && 'mcpServers' in raw) {
    const message = 'stands beside servers: must be one of the two';
    faults.push({ path: ['mcpServers'], at: 'key', message });
  }
  const key = 'mcpServers' in raw ? 'mcpServers' : 'servers';
  const map = raw[key];
  if (!isRecord(map) || Object.keys(map).length === 0) {
    const isNone = map === undefined || isRecord(map);
    const there = isNone ? 'has no server' : `is ${describe(map, context.isHidden([key]))}`;
    const message = `${there}, must be a map of at least one name to its command, see config/sluice.example.yaml`;
    faults.push({ path: [key], at: 'value', message });
    return [];
  }
  if (key === 'servers') {
    return Object.entries(map).map(([name, entry]) => ({ name, path: [key, name], entry }));
  }
  const host = readHostServers(map);
  faults.push(...host.faults);
  warnings.push(...host.warnings);
  if (host.entries.length === 0 && host.faults.length === 0) {
    const message = 'has only disabled servers: must have at least one that is enabled';
    faults.push({ path: [key], at: 'value', message });
  }
  return host.entries;
}

function readEntry(
  { name, path, entry }: NamedEntry,
  faults: Fault[],
  context: ResolveContext,
): ConfiguredServer[] {
  if (path[0] === 'servers' && !SERVER_NAME.test(name)) {
    const message =
      'is not a server name: must be 1 to 32 of a-z, 0-9 and -, and must not start with -';
    faults.push({ path, at: 'key', message });
  }
  if (!isRecord(entry)) {
    const message = `is ${describe(entry, context.isHidden(path))}, must be a map of options with a command or a url`;
    faults.push({ path, at: 'value', message });
    return [];
  }
  // Which schema fits is decided before it is applied, so that its messages are about one kind.
  if ('url' in entry) return readRemote(name, entry, { path, faults, context });
  const known = Object.keys(serverSchema.shape);
  if (!('command' in entry) && !Object.keys(entry).some((key) => !known.includes(key))) {
    const message = 'has no command: must have command, the program to start';
    faults.push({ path, at: 'key', message });
  }
  const parsed = serverSchema.safeParse(entry);
  if (!parsed.success) {
    const found = faultsOf(parsed.error.issues, path, entry, context.isHidden);
    // A missing command was reported above, or is what the unknown key was meant to be.
    faults.push(...found.filter((fault) => 'command' in entry || fault.path.at(-1) !== 'command'));
    return [];
  }
  return [ownServer(name, parsed.data, context.folder)];
}

function readRemote(
  name: string,
  entry: Readonly<Record<string, unknown>>,
  to: { readonly path: ConfigPath; readonly faults: Fault[]; readonly context: ResolveContext },
): ConfiguredServer[] {
  const { path, faults, context } = to;
  if ('command' in entry) {
    const message = 'stands beside command: must be one of the two';
    faults.push({ path: [...path, 'url'], at: 'key', message });
    return [];
  }
  const parsed = remoteServerSchema.safeParse(entry);
  if (parsed.success) return [farServer(name, parsed.data, context.folder)];
  faults.push(...faultsOf(parsed.error.issues, path, entry, context.isHidden));
  return [];
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
