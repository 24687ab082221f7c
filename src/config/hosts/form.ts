// Which host wrote a file, by the key that holds its servers and by what only that host writes. One
// row for each; docs/host-files.md says what is read of each.
import { basename, dirname } from 'node:path';
import { isRecord, valueUnder } from '../records.ts';

/** How a host writes its file, where that differs. */
export interface HostForm {
  /** For messages. */
  readonly host: string;
  /** Path of its map of servers. */
  readonly at: readonly [string, ...string[]];
  /** What it writes for a variable, besides `${NAME}` and `${env:NAME}`. */
  readonly variable?: '$NAME' | '{env:NAME}';
  /** `url` means HTTP+SSE, since `httpUrl` means Streamable HTTP. */
  readonly urlIsSse?: true;
  /** What the number in `timeout` counts. */
  readonly timeoutUnit?: 'ms' | 's';
  /** `env` may have numbers, and null for a variable that is not passed on. */
  readonly looseEnv?: true;
  /** `tools` of an entry asks for approvals and shows nothing less. */
  readonly toolsAreApprovals?: true;
  /** Keys of the whole file that are the host's own, although the gateway has options of that name. */
  readonly ownKeys?: readonly string[];
}

/** The form of one file. */
export interface HostFile {
  readonly form: HostForm;
  /** Absolute: the folder that the host was opened in. Relative paths of servers start there. */
  readonly workspace: string;
  /** The names of servers that the file says are off, besides the entries' own switches. */
  readonly off: ReadonlySet<string>;
  /** What the host asks its user for, by id. */
  readonly inputs: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
}

type Entries = readonly Readonly<Record<string, unknown>>[];

interface RecognisedForm extends HostForm {
  /** Whether a file with such a map is of this host. */
  readonly is?: (entries: Entries, raw: Readonly<Record<string, unknown>>, path: string) => boolean;
}

/** Cline's longest timeout is an hour; the other hosts with such keys count milliseconds. */
const MAX_CLINE_TIMEOUT = 3600;

/** The first one that fits. */
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

/** The keys at the top of a file that hold servers, in the order in which they are looked for. */
const HOLDERS = ['servers', 'mcpServers', 'context_servers', 'mcp_servers', 'mcp'];

/**
 * The keys of a file that hold servers; more than one would be ambiguous. `mcp` beside another one is a
 * host's setting.
 */
export function holdersOf(raw: Readonly<Record<string, unknown>>): string[] {
  const found = HOLDERS.filter((key) => Object.hasOwn(raw, key));
  return found.length === 1 ? found : found.filter((key) => key !== 'mcp');
}

/** Which host wrote a file of that absolute path; undefined for a configuration of the gateway's own. */
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

/** A host's folder in a project, such as `.vscode`, is not where its servers work. */
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

/** The gateway's own entries have no `type`, and no variables of an editor's. */
function isVsCode(entries: Entries, raw: Readonly<Record<string, unknown>>): boolean {
  return (
    'inputs' in raw ||
    hasKey(entries, ['type', 'envFile', 'dev', 'gallery']) ||
    texts(entries).some((text) => /\$\{(input:|env:|workspaceFolder|userHome\})/.test(text))
  );
}

/** The texts of entries, and those of the lists and maps in them. */
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

/** Gemini CLI has lists of servers that it may start, and that it must not. */
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
