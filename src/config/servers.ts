// The servers of a configuration: finds their map, in the gateway's form or a host's, leaves out disabled
// ones, and reads each entry with the schema for its kind.
import { type ReadEntry, readHostEntry } from './hosts/entry.ts';
import { type HostFile, holdersOf } from './hosts/form.ts';
import { fitName, nameServers } from './hosts/names.ts';
import { HOST_SWITCHES, OWN_SWITCH, readSwitches } from './hosts/switches.ts';
import { kindOf } from './hosts/transport.ts';
import { type ConfigPath, describe, type Fault, Findings, faultsOf, formatPath } from './issues.ts';
import { isRecord, valueUnder } from './records.ts';
import { SERVER_NAME } from './schema.ts';
import {
  type ConfiguredServer,
  configuredServer,
  remoteServerSchema,
  serverSchema,
} from './server-entry.ts';

/** What is needed to resolve raw values. */
export interface ResolveContext {
  /** Absolute path of the file, if there is one. */
  readonly file: string | undefined;
  /** Absolute; the base of relative paths. */
  readonly folder: string;
  /** Whether the value at a path must not be shown in messages. */
  readonly isHidden: (path: ConfigPath) => boolean;
  /** The host that wrote the file; undefined for the gateway's form. */
  readonly host?: HostFile | undefined;
  /** The value of a variable of the environment; from then on it is secret. */
  readonly variable: (name: string) => string | undefined;
  /** The data folder in the environment; absolute. */
  readonly data?: string | undefined;
}

/** The path in the file for a path in an entry of the gateway's form. */
export type PlaceOf = (own: ConfigPath) => ConfigPath;

/** All servers. */
export interface Servers {
  readonly entries: readonly ConfiguredServer[];
  /** By name, including servers with invalid entries. */
  readonly places: ReadonlyMap<string, PlaceOf>;
  /** Names of disabled servers. */
  readonly off: ReadonlySet<string>;
  /** Notes about servers whose names were changed. */
  readonly renamed: readonly Fault[];
}

/** An entry before it is resolved. */
interface FoundEntry {
  readonly name: string;
  /** Its path in the file. */
  readonly path: ConfigPath;
  readonly raw: unknown;
  readonly isOff: boolean;
}

/** Reads the servers of a file. */
export function readServers(
  raw: Readonly<Record<string, unknown>>,
  context: ResolveContext,
  found: Findings,
): Servers {
  const [holder = 'servers', ...others] = holdersOf(raw);
  for (const other of others) {
    found.fault([other], `stands beside ${holder}: must be one of the two`, 'key');
  }
  const at = context.host?.form.at ?? [holder];
  const own = new Findings();
  const all = findEntries(at, valueUnder(raw, at), own, context);
  const on = all.filter(({ isOff }) => !isOff);
  if (all.length > 0 && on.length === 0 && own.faults.length === 0 && others.length === 0) {
    own.fault(at, 'has only disabled servers: must have at least one that is enabled');
  }
  const places = new Map<string, PlaceOf>();
  found.add(own, (path) => path);
  const entries = on.flatMap((one) => {
    const read = readForm(one, context);
    const placeOf: PlaceOf = (own) => [...one.path, ...read.placeOf(own)];
    places.set(one.name, placeOf);
    found.add(read.found, (path) => [...one.path, ...path]);
    const hasFaults = read.found.faults.length > 0;
    return readEntry({ ...one, raw: read.entry, placeOf, hasFaults }, found, context);
  });
  const off = new Set(all.filter(({ isOff }) => isOff).map(({ name }) => name));
  return { entries, places, off, renamed: renamedOf(on) };
}

function findEntries(
  at: readonly string[],
  map: unknown,
  found: Findings,
  { host, isHidden }: ResolveContext,
): FoundEntry[] {
  if (!isRecord(map) || Object.keys(map).length === 0) {
    const isNone = map === undefined || isRecord(map);
    const there = isNone ? 'has no server' : `is ${describe(map, isHidden(at))}`;
    const message = `${there}, must be a map of at least one name to its command, see config/sluice.example.yaml`;
    found.fault(at, message);
    return [];
  }
  const titles = Object.keys(map);
  const names = host === undefined ? undefined : nameServers(titles);
  const switches = host === undefined ? OWN_SWITCH : HOST_SWITCHES;
  const taken = new Map<string, string>();
  return Object.entries(map).map(([title, raw]) => {
    const path = [...at, title];
    const name = names?.get(title) ?? title;
    checkName(path, name, taken.get(name), found);
    taken.set(name, title);
    const under: PlaceOf = (key) => [...path, ...key];
    const wrong = new Findings();
    const isOff =
      isRecord(raw) && readSwitches(raw, switches, (key) => isHidden(under(key)), wrong);
    found.add(wrong, under);
    return { name, path, raw, isOff: isOff || host?.off.has(title) === true };
  });
}

function checkName(
  path: ConfigPath,
  name: string,
  other: string | undefined,
  found: Findings,
): void {
  if (!SERVER_NAME.test(name)) {
    const message = `is not a server name: must be 1 to 32 of a-z, 0-9 and -, and must not start with -, such as ${fitName(name)}`;
    found.fault(path, message, 'key');
  } else if (other !== undefined) {
    const message = `becomes the server name ${name}, as ${formatPath([other])} does: must be another name`;
    found.fault(path, message, 'key');
  }
}

/** An entry in the gateway's form. */
function readForm(
  { path, raw }: FoundEntry,
  context: ResolveContext,
): Omit<ReadEntry, 'entry'> & {
  readonly entry: unknown;
} {
  const { host, variable } = context;
  if (host !== undefined && isRecord(raw)) {
    const isHidden = (place: ConfigPath): boolean => context.isHidden([...path, ...place]);
    return readHostEntry(raw, { form: host.form, variable, isHidden });
  }
  const found = new Findings();
  const entry = isRecord(raw) ? withoutSwitch(raw, found) : raw;
  return { entry, placeOf: (own) => own, found };
}

function withoutSwitch(
  { disabled: _, enabled, ...rest }: Readonly<Record<string, unknown>>,
  found: Findings,
): Readonly<Record<string, unknown>> {
  const transport = 'url' in rest ? kindOf(rest['transport']) : undefined;
  if (enabled !== undefined) {
    const message = 'unknown key "enabled": must be disabled: true, to leave the server out';
    found.fault(['enabled'], message, 'key');
  }
  // Frameworks use other words for transports.
  return transport === undefined ? rest : { ...rest, transport };
}

interface Readable extends FoundEntry {
  readonly placeOf: PlaceOf;
  /** An error was reported about the entry: a missing command may be what was meant. */
  readonly hasFaults: boolean;
}

function readEntry(one: Readable, found: Findings, context: ResolveContext): ConfiguredServer[] {
  const { name, path, raw: entry, placeOf } = one;
  if (!isRecord(entry)) {
    const message = `is ${describe(entry, context.isHidden(path))}, must be a map of options with a command or a url`;
    found.fault(path, message);
    return [];
  }
  const isRemote = 'url' in entry;
  const hasCommand = 'command' in entry;
  if (isRemote && hasCommand) {
    found.fault(placeOf(['url']), 'stands beside command: must be one of the two', 'key');
    return [];
  }
  // The schema is chosen before it is applied, so that its messages are about one kind.
  const schema = isRemote ? remoteServerSchema : serverSchema;
  const isMeant = one.hasFaults || Object.keys(entry).some((key) => !(key in schema.shape));
  if (!isRemote && !hasCommand && !isMeant) {
    found.fault(path, 'has no command: must have command, the program to start, or url', 'key');
  }
  const parsed = schema.safeParse(entry);
  if (parsed.success) return [configuredServer(name, parsed.data, folderOf(context))];
  const isHidden = (own: ConfigPath): boolean => context.isHidden(placeOf(own));
  const wrong = faultsOf(parsed.error.issues, [], entry, isHidden);
  // A missing command was reported above, or the unknown key was meant to be one.
  const told = wrong.filter((fault) => hasCommand || fault.path.at(-1) !== 'command');
  found.faults.push(...told.map((fault) => ({ ...fault, path: placeOf(fault.path) })));
  return [];
}

/** The base of relative paths of servers. */
function folderOf({ host, folder }: ResolveContext): string {
  return host?.workspace ?? folder;
}

function renamedOf(found: readonly FoundEntry[]): Fault[] {
  return found
    .filter(({ name, path }) => path.at(-1) !== name)
    .map(({ name, path }) => ({ path, at: 'key', message: `is the server ${name} here` }));
}
