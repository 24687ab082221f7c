// What a user may say about one server (docs/configuration.md#serversname) and about processes: the
// types after load (durations in milliseconds, sizes in bytes, every default filled in) and the
// schemas that make them from the file.
import type { z } from 'zod';
import { byteSize, duration, integer, isMap, list, oneOf, section, text } from '../base/options.ts';
import {
  framingKey,
  hasPrincipalVariable,
  processKeys,
  resolveProcess,
  type StdioTarget,
} from './stdio/options.ts';
import { isLimitable, NO_PRLIMIT, resourceKeys, resourceLimits } from './stdio/resource-limits.ts';
import { type RemoteTarget, remoteKeys, resolveRemote } from './streamable-http/options.ts';

/** Which clients share one instance (docs/configuration.md#serversname). */
export type Sharing = 'shared' | 'principal' | 'session';

/** Limits of every wait on a server, all in milliseconds. */
export interface ServerTimeouts {
  /** From spawn to the end of the handshake. */
  readonly startMs: number;
  /** One call without an answer or progress. */
  readonly requestMs: number;
  /** One call in all, whatever its progress. */
  readonly requestMaxMs: number;
  /** How long a call may wait in the server's queue. */
  readonly queueMs: number;
  /** Without a call for this long the process is stopped; 0 is never. */
  readonly idleMs: number;
  /** The same for the process of clients that have no stream open, as if they had left. */
  readonly absentMs: number;
  /** The same for the process of clients that never opened a stream. */
  readonly unheardMs: number;
  /** Between TERM and KILL when the process is stopped. */
  readonly stopMs: number;
}

/** Bounds on what is held for a server. */
export interface ServerLimits {
  /** Calls that one instance works on at a time. */
  readonly inFlight: number;
  /** Calls that wait when an instance is full. */
  readonly queue: number;
  /** The largest message that is accepted from the server, in bytes. */
  readonly messageBytes: number;
}

/** After this without a call a client that had a stream open and has none now has probably left. */
const ABSENT_MS = 300_000;
/** The same for a client that never opened one: some don't, and show that they are there by calls alone. */
const UNHEARD_MS = 1_800_000;

/** A static root that the gateway answers `roots/list` with. */
export interface RootOptions {
  readonly uri: string;
  readonly name?: string;
}

/** One entry under `servers:`. */
export interface ServerOptions {
  readonly name: string;
  /** `jsonrpc` skips MCP: any JSON-RPC 2.0 server. */
  readonly protocol: 'mcp' | 'jsonrpc';
  /** Where the server is. */
  readonly target: StdioTarget | RemoteTarget;
  readonly sharing: Sharing;
  /** Instances of a shared server. */
  readonly replicas: number;
  readonly start: 'eager' | 'lazy';
  readonly roots: readonly RootOptions[];
  readonly era: 'auto' | 'legacy' | 'modern';
  readonly timeouts: ServerTimeouts;
  readonly limits: ServerLimits;
}

/** Caps over all private instances (`principal` and `session` sharing) of all servers. */
export interface ProcessOptions {
  readonly max: number;
  readonly maxPerPrincipal: number;
  /** Processes that start at once, over all servers. */
  readonly maxStarting: number;
}

const root = section({
  uri: text('a file:// URI')
    .refine((value) => /^file:\/\/./.test(value), { error: 'must be a file:// URI' })
    .meta({ description: 'URI of the root.' }),
  name: text('a name').optional().meta({ description: 'Display name of the root.' }),
}).transform(({ uri, name }): RootOptions => (name === undefined ? { uri } : { uri, name }));

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
})
  .refine((value) => !isGreater(value.request, value.requestMax), {
    path: ['request'],
    when: isMap,
    error:
      'is longer than requestMax: must be at most requestMax, or raise timeouts.requestMax too',
  })
  .transform(
    (value): ServerTimeouts => ({
      startMs: value.start,
      requestMs: value.request,
      requestMaxMs: value.requestMax,
      queueMs: value.queue,
      idleMs: value.idle ?? 0,
      absentMs: value.idle ?? ABSENT_MS,
      unheardMs: value.idle ?? UNHEARD_MS,
      stopMs: value.stop,
    }),
  );

const limitKeys = {
  inFlight: integer(1, 100_000).prefault(256).meta({
    description:
      'Calls in flight at one instance. With `auth`, one principal gets at most three quarters of them at a shared instance.',
  }),
  queue: integer(0, 100_000).prefault(256).meta({
    description: 'Calls that may wait in the queue of an instance that is busy.',
  }),
  message: byteSize(1024).prefault('16MiB').meta({
    description: 'Largest message accepted from the server.',
  }),
};

const limits = section(limitKeys).transform(
  ({ inFlight, queue, message }): ServerLimits => ({ inFlight, queue, messageBytes: message }),
);

/** Those of a process are set by the system too. */
const processLimits = section({ ...limitKeys, ...resourceKeys })
  .refine(isLimitable, { when: isMap, error: NO_PRLIMIT })
  .transform(({ inFlight, queue, message, ...resources }) => ({
    inFlight,
    queue,
    messageBytes: message,
    resources: resourceLimits(resources),
  }));

/** What entries of both kinds have. */
const common = {
  sharing: oneOf(['shared', 'principal', 'session']).optional().meta({
    description:
      'Which clients share one instance of the server: all clients (`shared`), the clients of one principal (`principal`), or one session only (`session`). Default: `shared`; with `protocol: jsonrpc` it is `session`.',
  }),
  replicas: integer(1, 64).prefault(1).meta({
    description: 'Number of instances of a shared server.',
  }),
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
  timeouts: timeouts.prefault({}).meta({ description: 'Time limits for the server.' }),
};

/** Refuses replicas of what is not shared. */
export const REPLICAS_NEED_SHARED = {
  path: ['replicas'],
  when: isMap,
  error:
    'needs sharing: shared, since every client or principal has its own process otherwise: must be 1, or set sharing: shared',
};

/** Refuses the framing of language servers for MCP servers. */
export const FRAMING_NEEDS_JSONRPC = {
  path: ['framing'],
  when: isMap,
  error: '`content-length` needs protocol: jsonrpc, since MCP servers frame by lines',
};

/** Refuses what is of one client for what all share. */
export const PRINCIPAL_NEEDS_PRIVATE = {
  path: ['env'],
  when: isMap,
  error:
    'has ${principal...}, but all clients share the process: set sharing: principal or sharing: session',
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

/** What they make: not yet resolved against a folder. */
export type ServerEntry = z.output<z.ZodObject<typeof serverKeys>>;

/** Keys of an entry with a `url`. */
export const remoteServerKeys = {
  ...remoteKeys,
  ...common,
  limits: limits.prefault({}).meta({ description: 'Limits for calls and messages.' }),
};

/** What they make. */
export type RemoteServerEntry = z.output<z.ZodObject<typeof remoteServerKeys>>;

/** `processes:` */
export const processesSchema = section({
  max: integer(1, 10_000).prefault(64).meta({
    description: 'Private processes (`sharing: principal` and `sharing: session`) of all servers.',
  }),
  maxPerPrincipal: integer(1, 10_000).prefault(8).meta({
    description: 'Private processes of one principal.',
  }),
  maxStarting: integer(1, 1000).prefault(4).meta({
    description:
      'Processes of all servers that may start at the same time. One server or principal gets half of them at most.',
  }),
}).transform((value): ProcessOptions => value);

/**
 * Resolves an entry with a command: default sharing, absolute folder, absolute command when it is a
 * path.
 *
 * @param name the server's name
 * @param entry what the file says
 * @param folder absolute; what relative paths start at
 * @returns the options
 */
export function resolveServer(name: string, entry: ServerEntry, folder: string): ServerOptions {
  const { command, args, env, inheritEnv, cwd, framing, runAs, wrap, limits, ...rest } = entry;
  const { resources, ...held } = limits;
  const process = { command, args, env, inheritEnv, cwd, framing, runAs, wrap, resources };
  const target = resolveProcess(process, folder);
  return { name, ...rest, limits: held, target, sharing: sharingOf(entry) };
}

/**
 * The options of an entry with a URL.
 * @param folder absolute; what relative paths start at
 */
export function remoteServer(
  name: string,
  entry: RemoteServerEntry,
  folder: string,
): ServerOptions {
  const { url, transport, headers, allowPrivate, proxy, tls, auth, ...rest } = entry;
  const remote = { url, transport, headers, allowPrivate, proxy, tls, auth };
  const target = resolveRemote(remote, folder);
  return { name, protocol: 'mcp', ...rest, target, sharing: sharingOf(entry) };
}

/** What keeps the ways to come in at a remote server apart. */
export const REMOTE_RULES = [
  {
    holds: (value: RemoteRuleInput): boolean =>
      value.auth?.type !== 'token_exchange' || sharingOf(value) !== 'shared',
    message: {
      path: ['auth'],
      when: isMap,
      error:
        'is a token_exchange in the name of each client, but all clients share the connection: set sharing: principal or sharing: session',
    },
  },
  {
    holds: (value: RemoteRuleInput): boolean =>
      value.auth === undefined || !Object.keys(value.headers ?? {}).includes('authorization'),
    message: {
      path: ['headers'],
      when: isMap,
      error: 'has Authorization, which auth makes: must be one of the two',
    },
  },
  {
    holds: (value: RemoteRuleInput): boolean =>
      value.auth?.clientAuth !== 'certificate' || value.tls?.cert !== undefined,
    message: {
      path: ['auth'],
      when: isMap,
      error: 'has clientAuth: certificate, and there is none: set tls.cert and tls.key',
    },
  },
  {
    holds: (value: RemoteRuleInput): boolean =>
      value.url?.startsWith?.('https:') !== false ||
      Object.values(value.tls ?? {}).every((file) => file === undefined),
    message: { path: ['tls'], when: isMap, error: 'needs an https URL: set url, or remove tls' },
  },
];

interface RemoteRuleInput {
  readonly url?: string;
  readonly sharing?: Sharing | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly tls?: { readonly cert?: string | undefined };
  readonly auth?: { readonly type?: string; readonly clientAuth?: string } | undefined;
}

/** Whether clients' tokens are exchanged for those that a server is called with. */
export function isTokenExchange({ target }: ServerOptions): boolean {
  return target.kind === 'remote' && target.auth?.type === 'token_exchange';
}

/** Whether replicas and sharing fit. */
export function hasRoomForReplicas(value: {
  readonly replicas: number;
  readonly sharing?: Sharing | undefined;
  readonly protocol?: string;
}): boolean {
  return !(isGreater(value.replicas, 1) && sharingOf(value) !== 'shared');
}

// A language server keeps one client's documents, so sharing one is never a good default.
function sharingOf(entry: { sharing?: Sharing | undefined; protocol?: string }): Sharing {
  return entry.sharing ?? (entry.protocol === 'jsonrpc' ? 'session' : 'shared');
}

/** Whether only processes of one client have variables of a client. */
export function keepsPrincipalsApart(value: {
  readonly env?: unknown;
  readonly sharing?: Sharing | undefined;
  readonly protocol?: string;
}): boolean {
  return sharingOf(value) !== 'shared' || !hasPrincipalVariable({ env: value.env });
}

/** Whether framing and protocol fit. */
export function hasOwnFraming(value: { framing?: unknown; protocol?: unknown }): boolean {
  return value.framing !== 'content-length' || value.protocol === 'jsonrpc';
}

// Values of a wrong type have their own issue already.
function isGreater(left: unknown, right: unknown): boolean {
  return typeof left === 'number' && typeof right === 'number' && left > right;
}
