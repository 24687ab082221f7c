// Files as desktop hosts write them: a top-level `mcpServers` map. Each entry becomes a server;
// what hosts add for themselves is ignored with a warning, names are made to fit.

import { type ConfigPath, type Fault, formatPath } from './issues.ts';
import { remoteServerSchema, serverSchema } from './server-entry.ts';

/** An entry on its way to a server. */
export interface NamedEntry {
  readonly name: string;
  /** Where it stands in the file. */
  readonly path: ConfigPath;
  readonly entry: unknown;
}

/** What a host's map became. */
export interface HostServers {
  readonly entries: readonly NamedEntry[];
  readonly faults: readonly Fault[];
  readonly warnings: readonly Fault[];
}

/** `type` of an entry that says nothing new, and what the others mean. */
const LOCAL_TYPES: readonly unknown[] = [undefined, 'stdio', 'local'];
const TRANSPORTS: ReadonlyMap<unknown, string> = new Map([
  ['http', 'auto'],
  ['remote', 'auto'],
  ['sse', 'sse'],
  ['streamable-http', 'streamable-http'],
  ['streamableHttp', 'streamable-http'],
]);

/**
 * Reads a host's map of servers.
 *
 * @param servers the value of `mcpServers`
 * @returns entries of the shape that `servers` has
 */
export function readHostServers(servers: Readonly<Record<string, unknown>>): HostServers {
  const entries: NamedEntry[] = [];
  const faults: Fault[] = [];
  const warnings: Fault[] = [];
  const taken = new Map<string, string>();
  for (const [title, entry] of Object.entries(servers)) {
    const path = ['mcpServers', title];
    if (!isRecord(entry)) {
      entries.push({ name: title, path, entry });
      continue;
    }
    if (entry['disabled'] === true) {
      continue;
    }
    const name = fitName(title);
    const other = taken.get(name);
    if (name === '') {
      faults.push({ path, at: 'key', message: 'must be a name with letters a-z or digits' });
    } else if (other !== undefined) {
      const message = `becomes the server name ${name}, as ${formatPath([other])} does: must be another name`;
      faults.push({ path, at: 'key', message });
    } else {
      taken.set(name, title);
      entries.push({ name, path, entry: keepKnown(entry, path, warnings) });
    }
  }
  return { entries, faults, warnings };
}

/**
 * Makes a host's name fit the grammar of server names.
 *
 * @param title any text
 * @returns lower case, other characters as `-`, at most 32 characters; empty when nothing is left
 */
export function fitName(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, 32)
    .replace(/-+$/, '');
}

function keepKnown(
  entry: Readonly<Record<string, unknown>>,
  path: ConfigPath,
  warnings: Fault[],
): Record<string, unknown> {
  const isRemote = 'url' in entry || 'serverUrl' in entry;
  const { shape } = isRemote ? remoteServerSchema : serverSchema;
  const transport = isRemote ? TRANSPORTS.get(entry['type']) : undefined;
  const kept: Record<string, unknown> = transport === undefined ? {} : { transport };
  for (const [title, value] of Object.entries(entry)) {
    const key = title === 'serverUrl' ? 'url' : title;
    // Both of command and url stay, so that the fault is told.
    if ((Object.hasOwn(shape, key) && isOwnAuth(key, value)) || key === 'command') {
      kept[key] = value;
    } else if (!isIgnored(key, value, transport)) {
      warnings.push({
        path: [...path, title],
        at: 'key',
        message: 'is not an option here: ignored',
      });
    }
  }
  return kept;
}

/** Hosts have an `auth` of their own, for what they do themselves. */
function isOwnAuth(key: string, value: unknown): boolean {
  return key !== 'auth' || (isRecord(value) && 'type' in value);
}

/** Whether a key of a host's may go without a word. */
function isIgnored(key: string, value: unknown, transport: string | undefined): boolean {
  if (key === 'type') return LOCAL_TYPES.includes(value) || transport !== undefined;
  return key === 'disabled' || key === 'headers';
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
