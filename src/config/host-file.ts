// Files as desktop hosts write them: a top-level `mcpServers` map. Each entry becomes a server;
// what hosts add for themselves is ignored with a warning, names are made to fit.
import { serverSchema } from '../backend/options.ts';
import { type ConfigPath, type Fault, formatPath } from './issues.ts';

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

/** `type` of an entry that is a child process. */
const LOCAL_TYPES: readonly unknown[] = [undefined, 'stdio', 'local'];

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
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(entry)) {
    if (key === 'type' && LOCAL_TYPES.includes(value)) {
      continue;
    }
    if (Object.hasOwn(serverSchema.shape, key) || key === 'url' || key === 'serverUrl') {
      kept[key === 'serverUrl' ? 'url' : key] = value;
    } else if (!['disabled', 'type', 'headers'].includes(key)) {
      warnings.push({ path: [...path, key], at: 'key', message: 'is not an option here: ignored' });
    }
  }
  return kept;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
