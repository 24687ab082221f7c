// Options of one server (docs/configuration.md#serversname), and of processes.
import {
  byteSize,
  duration,
  integer,
  isMap,
  type KeyOptions,
  list,
  type Options,
  oneOf,
  type Rule,
  section,
  split,
  text,
} from '../base/options.ts';
import { type RemoteTarget, remoteKeys, resolveRemote } from './credentials/options.ts';
import {
  framingKey,
  hasPrincipalVariable,
  processKeys,
  resolveProcess,
  type StdioTarget,
} from './stdio/options.ts';
import { isLimitable, NO_PRLIMIT, resourceKeys } from './stdio/resource-limits.ts';

const root = section({
  uri: text('a file:// URI')
    .refine((value) => /^file:\/\/./.test(value), { error: 'must be a file:// URI' })
    .meta({ description: 'URI of the root.' }),
  name: text('a name').optional().describe('Display name of the root.'),
});

const timeouts = section({
  start: duration(1).prefault('30s').meta({
    description: 'Longest time from the start of the process to the end of the handshake.',
  }),
  request: duration(1).prefault('60s').meta({
    description: 'Longest time that a call may run without a response or a progress notification.',
  }),
  requestMax: duration(1).prefault('10m').meta({
    description: 'Longest time that a call may run in total, even if it reports progress.',
  }),
  queue: duration(1).prefault('5s').meta({
    description: 'Longest time that a call may wait in the queue of the server.',
  }),
  idle: duration(0).optional().meta({
    description:
      'Stop the process when it had no call for this long. `0s` means never. Default for a shared server: never. Default for a private process: `5m` after its clients closed their streams, `30m` if they never opened one.',
  }),
  stop: duration(0).prefault('5s').meta({
    description: 'Time between SIGTERM and SIGKILL when the process is stopped.',
  }),
}).refine((value) => !isGreater(value.request, value.requestMax), {
  path: ['request'],
  when: isMap,
  error: 'is longer than requestMax: must be at most requestMax, or raise timeouts.requestMax too',
});

const limitKeys = {
  inFlight: integer(1, 100_000).prefault(256).meta({
    description:
      'Calls in flight at one instance. With `auth`, one principal gets at most three quarters of them at a shared instance.',
  }),
  queue: integer(0, 100_000).prefault(256).meta({
    description: 'Calls that may wait in the queue of an instance that is busy.',
  }),
  message: byteSize(1024).prefault('16MiB').describe('Largest message accepted from the server.'),
};

const limits = section(limitKeys);

/** Limits of what is held for a server. */
export type ServerLimits = Options<typeof limits>;

/** The system can limit processes too. */
const processLimits = section({ ...limitKeys, ...resourceKeys }).refine(isLimitable, {
  when: isMap,
  error: NO_PRLIMIT,
});

/** Keys of both kinds of entries. */
const common = {
  sharing: oneOf(['shared', 'principal', 'session']).optional().meta({
    description:
      'Which clients share one instance of the server: all clients (`shared`), the clients of one principal (`principal`), or one session only (`session`). Default: `shared`; with `protocol: jsonrpc` it is `session`.',
  }),
  replicas: integer(1, 64).prefault(1).describe('Number of instances of a shared server.'),
  start: oneOf(['eager', 'lazy']).prefault('eager').meta({
    description:
      '`eager` starts the server together with the gateway, `lazy` at the first call. Only shared servers can start eagerly.',
  }),
  roots: list(root, 'a list of roots').prefault([]).meta({
    description: 'Roots that the gateway returns when a shared server sends `roots/list`.',
  }),
  era: oneOf(['auto', 'legacy', 'modern']).prefault('auto').meta({
    description:
      'Protocol era of the server: `legacy` (up to 2025-11-25, with `initialize`), `modern` (2026-07-28), or `auto` to detect it.',
  }),
  timeouts: timeouts.prefault({}).describe('Time limits for the server.'),
};

/** Keys of an entry with a `command`. */
export const serverKeys = {
  ...processKeys,
  protocol: oneOf(['mcp', 'jsonrpc']).prefault('mcp').meta({
    description:
      '`jsonrpc` is for a JSON-RPC 2.0 server on stdio that does not speak MCP, such as a language server.',
  }),
  ...framingKey,
  ...common,
  limits: processLimits.prefault({}).meta({
    description: 'Limits for calls and messages, and system limits for the process.',
  }),
};

/** Such an entry, before its paths are resolved. */
export type ServerEntry = KeyOptions<typeof serverKeys>;

/** Keys of an entry with a `url`. */
export const remoteServerKeys = {
  ...remoteKeys,
  ...common,
  limits: limits.prefault({}).describe('Limits for calls and messages.'),
};

/** Such an entry. */
export type RemoteServerEntry = KeyOptions<typeof remoteServerKeys>;

/** `processes:` */
export const processesSchema = section({
  max: integer(1, 10_000).prefault(64).meta({
    description: 'Private processes (`sharing: principal` and `sharing: session`) of all servers.',
  }),
  maxPerPrincipal: integer(1, 10_000).prefault(8).describe('Private processes of one principal.'),
  maxStarting: integer(1, 1000).prefault(4).meta({
    description:
      'Processes of all servers that may start at the same time. One server or principal gets half of them at most.',
  }),
});

/** Limits for all private instances (`principal` and `session` sharing) of all servers. */
export type ProcessOptions = Options<typeof processesSchema>;

/** Which clients share one instance. */
export type Sharing = 'shared' | 'principal' | 'session';

/** One entry under `servers:`. */
export interface ServerOptions extends KeyOptions<typeof common> {
  readonly name: string;
  readonly protocol: ServerEntry['protocol'];
  /** Where the server is. */
  readonly target: StdioTarget | RemoteTarget;
  readonly sharing: Sharing;
  readonly limits: ServerLimits;
}

/**
 * Resolves an entry with a command: default sharing, absolute folder, absolute command if it is a path.
 * @param folder absolute; the base of relative paths
 */
export function resolveServer(name: string, entry: ServerEntry, folder: string): ServerOptions {
  const [process, rest] = split(entry, { ...processKeys, ...framingKey });
  const [resources, limits] = split(entry.limits, resourceKeys);
  const target = resolveProcess({ ...process, resources }, folder);
  return { name, ...rest, limits, target, sharing: sharingOf(entry) };
}

/**
 * The options of an entry with a URL.
 * @param folder absolute; the base of relative paths
 */
export function remoteServer(
  name: string,
  entry: RemoteServerEntry,
  folder: string,
): ServerOptions {
  const [remote, rest] = split(entry, remoteKeys);
  const target = resolveRemote(remote, folder);
  return { name, protocol: 'mcp', ...rest, target, sharing: sharingOf(entry) };
}

/** The values that rules check. A value of a wrong type has another error already. */
interface RuleInput {
  readonly command?: unknown;
  readonly url?: string;
  readonly sharing?: Sharing | undefined;
  readonly replicas?: number;
  readonly protocol?: string;
  readonly framing?: string;
  readonly env?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly tls?: { readonly cert?: string | undefined };
  readonly auth?: { readonly type?: string; readonly clientAuth?: string } | undefined;
}

const REPLICAS: Rule<RuleInput> = {
  at: 'replicas',
  holds: (value) => !isGreater(value.replicas, 1) || sharingOf(value) === 'shared',
  error:
    'needs sharing: shared, since every client or principal has its own process otherwise: must be 1, or set sharing: shared',
};

/** Rules for entries with a command. */
export const SERVER_RULES: readonly Rule<RuleInput>[] = [
  REPLICAS,
  {
    at: 'framing',
    holds: ({ framing, protocol }) => framing !== 'content-length' || protocol === 'jsonrpc',
    error: '`content-length` needs protocol: jsonrpc, since MCP servers frame by lines',
  },
  {
    at: 'env',
    holds: (value) => sharingOf(value) !== 'shared' || !hasPrincipalVariable(value.env),
    error:
      'has ${principal...}, but all clients share the process: set sharing: principal or sharing: session',
  },
];

/** Rules for entries with a URL: options for access must not contradict each other. */
export const REMOTE_RULES: readonly Rule<RuleInput>[] = [
  REPLICAS,
  {
    at: 'auth',
    holds: (value) => value.auth?.type !== 'token_exchange' || sharingOf(value) !== 'shared',
    error:
      'is a token_exchange in the name of each client, but all clients share the connection: set sharing: principal or sharing: session',
  },
  {
    at: 'headers',
    holds: ({ auth, headers }) =>
      auth === undefined || !Object.keys(headers ?? {}).includes('authorization'),
    error: 'has Authorization, which auth makes: must be one of the two',
  },
  {
    at: 'auth',
    holds: ({ auth, tls }) => auth?.clientAuth !== 'certificate' || tls?.cert !== undefined,
    error: 'has clientAuth: certificate, and there is none: set tls.cert and tls.key',
  },
  {
    at: 'tls',
    holds: ({ url, tls }) =>
      url?.startsWith?.('https:') !== false ||
      Object.values(tls ?? {}).every((file) => file === undefined),
    error: 'needs an https URL: set url, or remove tls',
  },
];

/** Whether clients' tokens are exchanged for tokens of the server. */
export function isTokenExchange({ target }: ServerOptions): boolean {
  return target.kind === 'remote' && target.auth?.type === 'token_exchange';
}

// A language server keeps one client's documents, so sharing it is never a good default.
function sharingOf(entry: { sharing?: Sharing | undefined; protocol?: string }): Sharing {
  return entry.sharing ?? (entry.protocol === 'jsonrpc' ? 'session' : 'shared');
}

// A value of a wrong type has another error already.
function isGreater(left: unknown, right: unknown): boolean {
  return typeof left === 'number' && typeof right === 'number' && left > right;
}
