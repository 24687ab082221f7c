// Which values of a file are used, and whose form of variables they have. Values of disabled servers, or of
// the host alone, may contain variables that are not set.
import type { Reading } from './document.ts';
import type { HostFile } from './hosts/form.ts';
import { isHostsOwn } from './hosts/keys.ts';
import { HOST_SWITCHES, OWN_SWITCH, readSwitches } from './hosts/switches.ts';
import { rewriteVariables } from './hosts/variables.ts';
import type { ConfigPath } from './issues.ts';
import { isRecord, valueUnder } from './records.ts';
import { settingsSchema } from './schema.ts';

/** Where the gateway's own form has its servers. */
const OWN = ['servers'];

/** How the values of a file are read. Without a host it has the gateway's form. */
export function readingOf(
  raw: unknown,
  host: HostFile | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): Reading {
  const servers = host?.form.at ?? OWN;
  const isOn = entriesThatAreOn(raw, servers, host);
  const isRead = (path: ConfigPath): boolean => {
    const [title, key] = path.slice(servers.length);
    if (!servers.every((part, index) => path[index] === part)) {
      return host === undefined || isOption(String(path[0]), host);
    }
    if (!isOn(String(title))) return false;
    return host === undefined || HOST_SWITCHES.has(String(key)) || !isHostsOwn(String(key));
  };
  if (host === undefined) return { servers, isRead };
  const rewrite: Reading['rewrite'] = (text) => rewriteVariables(text, host, environment['HOME']);
  return { servers, isRead, rewrite };
}

function entriesThatAreOn(
  raw: unknown,
  at: readonly string[],
  host: HostFile | undefined,
): (title: string) => boolean {
  const entries = valueUnder(raw, at);
  const switches = host === undefined ? OWN_SWITCH : HOST_SWITCHES;
  const off = Object.entries(isRecord(entries) ? entries : {})
    .filter(([, entry]) => isRecord(entry) && readSwitches(entry, switches))
    .map(([title]) => title);
  const all = new Set([...off, ...(host?.off ?? [])]);
  return (title) => !all.has(title);
}

/** Files of hosts may also contain the gateway's options. */
function isOption(key: string, { form }: HostFile): boolean {
  return Object.hasOwn(settingsSchema.shape, key) && form.ownKeys?.includes(key) !== true;
}
