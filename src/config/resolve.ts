// Makes the Config of raw values, which come from a file or from the flags of `sluice run`. Knows schemas and
// rules, but only paths, no positions.
import { type AuthOptions, authSchema } from '../auth/options.ts';
import { absolutePath, whyNotWritable } from '../base/folders.ts';
import { isTokenExchange } from '../upstream/options.ts';
import { checkKnownClients, checkReadableFiles, checkRules } from './access-checks.ts';
import type { Config } from './config.ts';
import { readEndpoints } from './endpoints.ts';
import { riskyOptions, unsafeOptions } from './exposure.ts';
import type { HostFile } from './hosts/form.ts';
import { DATA_VARIABLE } from './interpolate.ts';
import { describe, type Fault, Findings, faultsOf } from './issues.ts';
import { isRecord } from './records.ts';
import { settingsSchema } from './schema.ts';
import { type PlaceOf, type ResolveContext, readServers } from './servers.ts';

/** A configuration, or at least one error. */
export interface Resolution {
  readonly config: Config | undefined;
  readonly faults: readonly Fault[];
  readonly warnings: readonly Fault[];
  /** Where the options of each server are in the file. */
  readonly places: ReadonlyMap<string, PlaceOf>;
  /** Notes about servers whose names were changed. */
  readonly renamed: readonly Fault[];
}

/** Validates the values of a file, and adds all defaults. */
export function resolveConfig(raw: unknown, context: ResolveContext): Resolution {
  if (!isRecord(raw)) {
    const there = raw === null ? 'is empty' : `is ${describe(raw, context.isHidden([]))}`;
    const message = `the file ${there}, must be a map with servers, see config/sluice.example.yaml`;
    return {
      config: undefined,
      faults: [{ path: [], at: 'value', message }],
      warnings: [],
      places: new Map(),
      renamed: [],
    };
  }
  const found = new Findings();
  const { host } = context;
  const document = host === undefined ? raw : withoutHostKeys(raw, host, found);
  const settings = settingsSchema.safeParse(document);
  if (!settings.success) {
    found.faults.push(...faultsOf(settings.error.issues, [], document, context.isHidden));
  }
  const auth = readAuth(document['auth'], found, context);
  const listen = settings.data?.listen ?? document['listen'];
  unsafeOptions(isRecord(listen) ? listen : {}, auth, found);
  const { entries, places, off, renamed } = readServers(raw, context, found);
  const servers = entries.map(({ server }) => server);
  // The path of a server's option is translated to its place in the host's entry.
  const placeOf: PlaceOf = (path) => places.get(String(path[1]))?.(path.slice(2)) ?? path;
  const ofServers = new Findings();
  const endpoints = readEndpoints(settings.data?.endpoints ?? {}, servers, off, found);
  if (auth !== 'unclear') {
    checkKnownClients(servers, auth, ofServers);
    checkRules(auth, [...places.keys(), ...off], found);
  }
  if (
    settings.data === undefined ||
    auth === 'unclear' ||
    found.faults.length + ofServers.faults.length > 0
  ) {
    found.add(ofServers, placeOf);
    return { config: undefined, ...found, places, renamed };
  }
  const { file } = context;
  const keepsTokens = servers.some(isTokenExchange);
  const { servers: _, mcpServers: __, $schema: ___, ...options } = settings.data;
  const config: Config = {
    ...withAbsolutePaths({ ...options, auth: auth && { ...auth, keepsTokens } }, context.folder),
    data: dataFolder(options.data, context, found),
    file,
    endpoints,
    servers,
    catalogOptionsOf: new Map(
      entries.map(({ server, catalogOptions }) => [server.name, catalogOptions]),
    ),
  };
  riskyOptions(config, found);
  checkReadableFiles(config, ofServers);
  found.add(ofServers, placeOf);
  return { config: deepFreeze(config), ...found, places, renamed };
}

/** `auth` is `none` or a map. */
function readAuth(
  raw: unknown,
  found: Findings,
  context: ResolveContext,
): AuthOptions | 'unclear' | undefined {
  if (raw === undefined || raw === 'none') return undefined;
  const path = ['auth'];
  if (!isRecord(raw)) {
    const message = `is ${describe(raw, context.isHidden(path))}, must be none or a map of options`;
    found.fault(path, message);
    return 'unclear';
  }
  const parsed = authSchema.safeParse(raw);
  if (parsed.success) return parsed.data;
  found.faults.push(...faultsOf(parsed.error.issues, path, raw, context.isHidden));
  return 'unclear';
}

/**
 * The data folder. An image names one in its environment, and may run with a read-only root. This must not
 * prevent the start of a gateway whose user never asked for a data folder.
 */
function dataFolder(
  given: string | undefined,
  { folder, data }: ResolveContext,
  found: Findings,
): string | undefined {
  if (given !== undefined) return absolutePath(given, folder);
  const why = data === undefined ? undefined : whyNotWritable(data);
  if (why === undefined) return data;
  found.warn(['data'], `is ${data} by ${DATA_VARIABLE}, which can't be written (${why}): not used`);
  return undefined;
}

function withAbsolutePaths<T extends Pick<Config, 'listen' | 'admin' | 'audit' | 'auth'>>(
  options: T,
  folder: string,
): T {
  const { listen, admin, audit, auth } = options;
  const path = <P extends string | undefined>(given: P): P | string => absolutePath(given, folder);
  const { tls } = listen;
  const files = tls && { cert: path(tls.cert), key: path(tls.key), clientCa: path(tls.clientCa) };
  return {
    ...options,
    listen: { ...listen, tls: tls && { ...tls, ...files } },
    admin: { ...admin, socket: path(admin.socket) },
    audit: { ...audit, to: audit.to === 'stdout' ? audit.to : path(audit.to) },
    auth: auth && { ...auth, keys: auth.keys && { file: path(auth.keys.file) } },
  };
}

/**
 * The top-level keys of a host are not errors. Only VS Code has none except `inputs`, so there the gateway's
 * options are checked as in its own file.
 */
function withoutHostKeys(
  raw: Readonly<Record<string, unknown>>,
  { form }: HostFile,
  found: Findings,
): Record<string, unknown> {
  const [holder] = form.at;
  const isOption = (key: string): boolean =>
    Object.hasOwn(settingsSchema.shape, key) && form.ownKeys?.includes(key) !== true;
  const others = Object.keys(raw).filter((key) => key !== holder && !isOption(key));
  if (holder === 'servers') {
    const { inputs: _, ...rest } = raw;
    return rest;
  }
  const kept = Object.entries(raw).filter(([key]) => key === holder || !others.includes(key));
  const [first, ...more] = others.filter((key) => key !== 'mcp');
  if (first !== undefined) {
    const verb = more.length === 1 ? 'is' : 'are';
    const names = `${more.slice(0, 3).join(', ')}${more.length > 3 ? ' and others' : ''}`;
    const tail = more.length === 0 ? '' : `, as ${verb} ${names}`;
    found.warn([first], `is not an option here: ignored${tail}`, 'key');
  }
  return Object.fromEntries(kept.filter(([key]) => Object.hasOwn(settingsSchema.shape, key)));
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}
