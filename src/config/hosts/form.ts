// Recognizes the host that wrote a file, by the key of its servers and by features that only one host has.
// docs/host-files.md describes what is read of each host.
import { basename, dirname } from 'node:path';
import { isRecord, valueUnder } from '../records.ts';

/** How a host's file differs. */
export interface HostForm {
  /** For messages. */
  readonly host: string;
  /** The path of its map of servers. */
  readonly at: readonly [string, ...string[]];
  /** Its own form of variables, in addition to `${NAME}` and `${env:NAME}`. */
  readonly variable?: '$NAME' | '{env:NAME}';
  /** `url` means HTTP+SSE, because `httpUrl` means Streamable HTTP. */
  readonly urlIsSse?: true;
  /** The unit of `timeout`. */
  readonly timeoutUnit?: 'ms' | 's';
  /** `env` may have numbers, and null for a variable that is not set. */
  readonly looseEnv?: true;
  /** `tools` of an entry is about approvals and hides no tools. */
  readonly toolsAreApprovals?: true;
  /** Top-level keys of the host that have the name of a gateway option. */
  readonly ownKeys?: readonly string[];
}

/** The form of one file. */
export interface HostFile {
  readonly form: HostForm;
  /** The workspace folder of the host, absolute. Relative paths of servers start there. */
  readonly workspace: string;
  /** Servers that are disabled elsewhere in the file, not in their entries. */
  readonly off: ReadonlySet<string>;
  /** What the host asks its user for, by id. */
  readonly inputs: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
}

type Entries = readonly Readonly<Record<string, unknown>>[];

interface RecognisedForm extends HostForm {
  /** Whether a file with such a map belongs to this host. */
  readonly is?: (entries: Entries, raw: Readonly<Record<string, unknown>>, path: string) => boolean;
}

/** Cline's longest timeout is an hour; other hosts with this key use milliseconds. */
const MAX_CLINE_TIMEOUT = 3600;

/** The first one that matches is used. */
const FORMS: readonly RecognisedForm[] = [
  {
    host: 'Gemini CLI',
    at: ['mcpServers'],
    variable: '$NAME',
    urlIsSse: true,
    timeoutUnit: 'ms',
    ownKeys: ['admin'],
    is: (entries, raw, path) =>
      /[\\/]\.(gemini|qwen)[\\/]/.test(path) ||
      hasKey(entries, ['httpUrl', 'includeTools', 'excludeTools', 'trust']) ||
      isRecord(raw['mcp']),
  },
  {
    host: 'Cline',
    at: ['mcpServers'],
    timeoutUnit: 's',
    is: (entries, _, path) =>
      basename(path) === 'cline_mcp_settings.json' ||
      (hasKey(entries, ['autoApprove', 'alwaysAllow']) &&
        entries.every(({ timeout }) => !(Number(timeout) > MAX_CLINE_TIMEOUT))),
  },
  { host: 'the host', at: ['mcpServers'] },
  { host: 'Zed', at: ['context_servers'], ownKeys: ['log'] },
  { host: 'Codex', at: ['mcp_servers'], toolsAreApprovals: true },
  { host: 'opencode', at: ['mcp', 'servers'], variable: '{env:NAME}', is: isOpencode },
  { host: 'VS Code', at: ['mcp', 'servers'], looseEnv: true },
  { host: 'opencode', at: ['mcp'], variable: '{env:NAME}' },
  { host: 'VS Code', at: ['servers'], looseEnv: true, is: isVsCode },
];

/** Top-level keys that may contain the servers, in this order. */
const HOLDERS = ['servers', 'mcpServers', 'context_servers', 'mcp_servers', 'mcp'];

/**
 * The keys of a file that contain servers. More than one would be ambiguous. `mcp` together with another one
 * is a setting of the host.
 */
export function holdersOf(raw: Readonly<Record<string, unknown>>): string[] {
  const found = HOLDERS.filter((key) => Object.hasOwn(raw, key));
  return found.length === 1 ? found : found.filter((key) => key !== 'mcp');
}

/** The host that wrote a file with an absolute path; undefined for a file of the gateway. */
export function hostFile(raw: unknown, path: string): HostFile | undefined {
  if (!isRecord(raw)) return undefined;
  const [holder] = holdersOf(raw);
  const form = FORMS.find(({ at, is }) => {
    if (at[0] !== holder) return false;
    const servers = valueUnder(raw, at);
    if (!isRecord(servers)) return at.length === 1 && is === undefined;
    return is === undefined || is(Object.values(servers).filter(isRecord), raw, path);
  });
  if (form === undefined) return undefined;
  const settings = form.at.length === 1 ? raw : valueUnder(raw, form.at.slice(0, -1));
  return { form, workspace: workspaceOf(path), off: offNames(raw, form), inputs: inputs(settings) };
}

/** The workspace is the parent of a host's folder such as `.vscode`. */
function workspaceOf(path: string): string {
  const folder = dirname(path);
  const isHosts = /^\.[a-z]+$/.test(basename(folder)) && folder !== dirname(folder);
  return isHosts ? dirname(folder) : folder;
}

function isOpencode(entries: Entries, { $schema }: Readonly<Record<string, unknown>>): boolean {
  return (
    (typeof $schema === 'string' && $schema.includes('opencode')) ||
    entries.some(
      ({ type, command }) => /^(local|remote)$/.test(String(type)) || Array.isArray(command),
    )
  );
}

/** The gateway's own entries have no `type`, and no editor variables. */
function isVsCode(entries: Entries, raw: Readonly<Record<string, unknown>>): boolean {
  return (
    'inputs' in raw ||
    hasKey(entries, ['type', 'envFile', 'dev', 'gallery']) ||
    texts(entries).some((text) => /\$\{(input:|env:|workspaceFolder|userHome\})/.test(text))
  );
}

/** The strings in entries, and in their lists and maps. */
function texts(entries: Entries): string[] {
  const values = entries.flatMap((entry) => Object.values(entry));
  const inner = values.flatMap((value) =>
    typeof value === 'object' && value !== null ? Object.values(value) : [],
  );
  return [...values, ...inner].filter((value) => typeof value === 'string');
}

function hasKey(entries: Entries, keys: readonly string[]): boolean {
  return entries.some((entry) => keys.some((key) => Object.hasOwn(entry, key)));
}

/** Gemini CLI has lists of allowed and excluded servers. */
function offNames(raw: Readonly<Record<string, unknown>>, { at }: HostForm): ReadonlySet<string> {
  if (at[0] !== 'mcpServers') return new Set();
  const all = Object.keys(isRecord(raw['mcpServers']) ? raw['mcpServers'] : {});
  const allowed = [valueUnder(raw, ['mcp', 'allowed']), raw['allowMCPServers']].filter(
    Array.isArray,
  );
  const excluded = [valueUnder(raw, ['mcp', 'excluded']), raw['excludeMCPServers']];
  return new Set(
    all.filter(
      (name) =>
        allowed.some((list) => !list.includes(name)) ||
        excluded.some((list) => Array.isArray(list) && list.includes(name)),
    ),
  );
}

function inputs(settings: unknown): HostFile['inputs'] {
  const list = isRecord(settings) && Array.isArray(settings['inputs']) ? settings['inputs'] : [];
  return new Map(list.filter(isRecord).map((input) => [String(input['id']), input]));
}
