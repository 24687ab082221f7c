// What a user may say about one server (design.md 3.2 `servers:`) and about processes: the types
// after load (durations in milliseconds, sizes in bytes, every default filled in) and the schemas
// that make them from the file.
import { isAbsolute, resolve } from 'node:path';
import { z } from 'zod';
import { byteSize, duration, integer, isMap, list, oneOf, section, text } from '../base/options.ts';

/** Which clients share one instance (design.md 5.1). */
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

/** A static root that the gateway answers `roots/list` with. */
export interface RootOptions {
  readonly uri: string;
  readonly name?: string;
}

/** One entry under `servers:` that is a child process on stdio. */
export interface ServerOptions {
  readonly name: string;
  /** `jsonrpc` skips MCP: any JSON-RPC 2.0 server. */
  readonly protocol: 'mcp' | 'jsonrpc';
  /** `content-length` is what language servers use; only with protocol jsonrpc. */
  readonly framing: 'newline' | 'content-length';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Names of the gateway's own variables that the child gets besides the minimal set. */
  readonly inheritEnv: readonly string[];
  /** Absolute. */
  readonly cwd: string;
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

const COMMAND = 'must be a command: a program on PATH, or a path';
const command = text('a command: a program on PATH, or a path').min(1, { error: COMMAND });

const environmentValue = text('text: put it in quotes');
const environment = z
  .record(z.string(), environmentValue, { error: 'must be a map of names to texts' })
  .refine((value) => Object.keys(value).every(isVariableName), {
    error: 'must have only names without =, NUL and spaces',
  });
const variable = text('the name of a variable').refine(isVariableName, {
  error: 'must be the name of a variable such as HTTPS_PROXY',
});

const root = section({
  uri: text('a file:// URI')
    .refine((value) => /^file:\/\/./.test(value), { error: 'must be a file:// URI' })
    .meta({ description: 'What the server is told.' }),
  name: text('a name').optional().meta({ description: 'Name for display.' }),
}).transform(({ uri, name }): RootOptions => (name === undefined ? { uri } : { uri, name }));

const timeouts = section({
  start: duration(1).prefault('30s').meta({
    description: 'From the start of the process to the end of the handshake.',
  }),
  request: duration(1).prefault('60s').meta({
    description: 'One call without an answer or progress.',
  }),
  requestMax: duration(1).prefault('10m').meta({
    description: 'One call in all, whatever its progress.',
  }),
  queue: duration(1).prefault('5s').meta({
    description: "How long a call may wait in the server's queue.",
  }),
  idle: duration(0).prefault('0s').meta({
    description: 'Stop the process after this long without a call; 0s is never.',
  }),
  stop: duration(0).prefault('5s').meta({
    description: 'Between asking the process to end and killing it.',
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
      idleMs: value.idle,
      stopMs: value.stop,
    }),
  );

const limits = section({
  inFlight: integer(1, 100_000).prefault(256).meta({
    description: 'Calls that one instance works on at a time.',
  }),
  queue: integer(0, 100_000).prefault(256).meta({
    description: 'Calls that wait when an instance is full.',
  }),
  message: byteSize(1024).prefault('16MiB').meta({
    description: 'The largest message that is accepted from the server.',
  }),
}).transform(
  ({ inFlight, queue, message }): ServerLimits => ({ inFlight, queue, messageBytes: message }),
);

/** One entry under `servers:` with a `command`. */
export const serverSchema = section({
  command: command.meta({
    description:
      "The program. Without a slash it is looked up on PATH; a relative path starts at the configuration file's folder.",
  }),
  args: list(text('text: put it in quotes'), 'a list of texts').prefault([]).meta({
    description: 'Arguments, passed as they are: no shell.',
  }),
  env: environment.prefault({}).meta({
    description: 'Variables for the process. Values are texts; quote numbers.',
  }),
  inheritEnv: list(variable, 'a list of variable names').prefault([]).meta({
    description:
      "The gateway's own variables that the process gets besides PATH HOME USER LOGNAME LANG LC_* TZ TMPDIR TERM.",
  }),
  cwd: text('a folder').min(1, { error: 'must be a folder' }).optional().meta({
    description:
      "Working folder. Default, and start of a relative path: the configuration file's folder.",
  }),
  protocol: oneOf(['mcp', 'jsonrpc']).prefault('mcp').meta({
    description: '`jsonrpc` skips MCP: any JSON-RPC 2.0 server on stdio.',
  }),
  framing: oneOf(['newline', 'content-length']).prefault('newline').meta({
    description: 'How messages are told apart; `content-length` only with `protocol: jsonrpc`.',
  }),
  sharing: oneOf(['shared', 'principal', 'session']).optional().meta({
    description:
      'Which clients share a process: all, those of one principal, or none. Default `shared`, with `protocol: jsonrpc` `session`.',
  }),
  replicas: integer(1, 64).prefault(1).meta({
    description: 'Processes of a shared server.',
  }),
  start: oneOf(['eager', 'lazy']).prefault('eager').meta({
    description: 'Start with the gateway, or at the first call. Only shared servers start eagerly.',
  }),
  roots: list(root, 'a list of roots').prefault([]).meta({
    description: 'Static roots that the gateway answers a shared server with.',
  }),
  era: oneOf(['auto', 'legacy', 'modern'])
    .refine((value) => value !== 'modern', {
      error: '`modern` is not supported by this version yet: must be auto or legacy',
    })
    .prefault('auto')
    .meta({ description: 'Protocol era of the server. `modern` is not supported yet.' }),
  timeouts: timeouts.prefault({}).meta({ description: 'Limits of every wait.' }),
  limits: limits.prefault({}).meta({ description: 'Bounds on what is held.' }),
})
  .refine((value) => !(isGreater(value.replicas, 1) && sharingOf(value) !== 'shared'), {
    path: ['replicas'],
    when: isMap,
    error:
      'needs sharing: shared, since every client or principal has its own process otherwise: must be 1, or set sharing: shared',
  })
  .refine((value) => value.framing !== 'content-length' || value.protocol === 'jsonrpc', {
    path: ['framing'],
    when: isMap,
    error: '`content-length` needs protocol: jsonrpc, since MCP servers frame by lines',
  });

/** What `serverSchema` makes: not yet resolved against a folder. */
export type ServerEntry = z.output<typeof serverSchema>;

/** One entry under `servers:` with a `url`. Documented, not built yet. */
export const remoteServerSchema = section({
  url: text('an http or https URL')
    .refine((value) => /^https?:$/.test(URL.parse(value)?.protocol ?? ''), {
      error: 'must be an http or https URL',
    })
    .meta({ description: 'Address of a remote server. Not supported yet.' }),
  transport: oneOf(['auto', 'streamable-http', 'sse'])
    .prefault('auto')
    .meta({ description: 'How to reach it.' }),
  headers: z
    .record(z.string(), text('text: put it in quotes'), {
      error: 'must be a map of names to texts',
    })
    .prefault({})
    .meta({ description: 'Headers of every request.' }),
});

/** `processes:` */
export const processesSchema = section({
  max: integer(1, 10_000).prefault(64).meta({
    description: 'Private processes (sharing `principal` and `session`) of all servers.',
  }),
  maxPerPrincipal: integer(1, 10_000).prefault(8).meta({
    description: 'Private processes of one principal.',
  }),
  maxStarting: integer(1, 1000).prefault(4).meta({
    description: 'Processes that start at once, over all servers.',
  }),
}).transform((value): ProcessOptions => value);

/**
 * Resolves an entry: default sharing, absolute folder, absolute command when it is a path.
 *
 * @param name the server's name
 * @param entry what the file says
 * @param folder absolute; what relative paths start at
 * @returns the options
 */
export function resolveServer(name: string, entry: ServerEntry, folder: string): ServerOptions {
  const isRelativePath = entry.command.includes('/') && !isAbsolute(entry.command);
  return {
    name,
    ...entry,
    command: isRelativePath ? resolve(folder, entry.command) : entry.command,
    cwd: resolve(folder, entry.cwd ?? '.'),
    sharing: sharingOf(entry),
  };
}

// A language server keeps one client's documents, so sharing one is never a good default.
function sharingOf(entry: { sharing?: Sharing | undefined; protocol?: string }): Sharing {
  return entry.sharing ?? (entry.protocol === 'jsonrpc' ? 'session' : 'shared');
}

function isVariableName(name: string): boolean {
  return /^[^\s=\0]+$/.test(name);
}

// Values of a wrong type have their own issue already.
function isGreater(left: unknown, right: unknown): boolean {
  return typeof left === 'number' && typeof right === 'number' && left > right;
}
