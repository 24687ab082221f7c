// What a user may say about a child process: the type after load and the keys that it is made from.
import { isAbsolute, resolve } from 'node:path';
import { z } from 'zod';
import {
  isLive,
  isOfPrincipal,
  type LiveText,
  parseLiveText,
  plainText,
} from '../../base/live-text.ts';
import { list, oneOf, text } from '../../base/options.ts';
import type { ResourceLimits } from './resource-limits.ts';
import type { RunAs } from './run-as.ts';
import { runAsSchema } from './run-as-options.ts';

/** A server that is a child process on stdio. */
export interface StdioTarget {
  readonly kind: 'stdio';
  /** `content-length` is what language servers use; only with protocol jsonrpc. */
  readonly framing: 'newline' | 'content-length';
  readonly command: string;
  readonly args: readonly string[];
  /** As at load; what is known of a client stands there as it is written. */
  readonly env: Readonly<Record<string, string>>;
  /** The variables among them that are read again, or made, at each start. */
  readonly liveEnv: Readonly<Record<string, LiveText>>;
  /** Names of the gateway's own variables that the child gets besides the minimal set. */
  readonly inheritEnv: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  /** Undefined: as the gateway itself. */
  readonly runAs: RunAs | undefined;
  /** A program and its arguments that start the command, which is put behind them. */
  readonly wrap: readonly string[];
  readonly resources: ResourceLimits;
}

const COMMAND = 'must be a command: a program on PATH, or a path';
const command = text('a command: a program on PATH, or a path').min(1, { error: COMMAND });

const environmentValue = z
  .string({ error: 'must be text: put it in quotes' })
  .refine((value) => parseLiveText(value) !== undefined, {
    error: 'must be text without a NUL character',
  });
const environment = z
  .record(z.string(), environmentValue, { error: 'must be a map of names to texts' })
  .refine((value) => Object.keys(value).every(isVariableName), {
    error: 'must have only names without =, NUL and spaces',
  });
const variable = text('the name of a variable').refine(isVariableName, {
  error: 'must be the name of a variable such as HTTPS_PROXY',
});

/** The keys of an entry that say what to start. */
export const processKeys = {
  command: command.meta({
    description:
      'The program to start. A name without a slash is looked up on PATH once. A relative path is relative to the configuration file.',
  }),
  args: list(text('text: put it in quotes'), 'a list of texts').prefault([]).meta({
    description: 'Arguments of the program. No shell changes them.',
  }),
  env: environment.prefault({}).meta({
    description:
      'Environment variables of the process. Values are strings; put numbers in quotes. With `sharing: principal` or `sharing: session` a value can contain `${principal.name}` and `${principal.claims.NAME}`. Files are read again at each start.',
  }),
  inheritEnv: list(variable, 'a list of variable names').prefault([]).meta({
    description:
      'More environment variables of the gateway that the process inherits. It always inherits PATH, HOME, USER, LOGNAME, LANG, LC_*, TZ, TMPDIR and TERM.',
  }),
  cwd: text('a folder').min(1, { error: 'must be a folder' }).optional().meta({
    description:
      'Working directory of the process. Default: the folder of the configuration file. A relative path is relative to that folder.',
  }),
  runAs: runAsSchema.optional().meta({
    description:
      'Run the process as another user. The gateway must run as root, or have CAP_SETUID, CAP_SETGID and CAP_KILL.',
  }),
  wrap: list(text('text: put it in quotes'), 'a list of texts').prefault([]).meta({
    description:
      'A command that starts the server, such as a sandbox. `command` and `args` are added at its end. Example: `[bwrap, --ro-bind, /, /, --dev, /dev, --unshare-pid, --proc, /proc, --die-with-parent, --]`.',
  }),
};

/** How messages are told apart. */
export const framingKey = {
  framing: oneOf(['newline', 'content-length']).prefault('newline').meta({
    description:
      'How messages are separated: by newlines, or by `Content-Length` headers. `content-length` needs `protocol: jsonrpc`.',
  }),
};

/** What the keys say, not yet resolved. */
export interface ProcessEntry extends Omit<StdioTarget, 'kind' | 'cwd' | 'liveEnv' | 'runAs'> {
  readonly cwd?: string | undefined;
  readonly runAs?: RunAs | undefined;
}

/**
 * Makes the paths of an entry absolute.
 *
 * @param entry what the file says
 * @param folder absolute; what relative paths start at
 * @returns the target
 */
export function resolveProcess(entry: ProcessEntry, folder: string): StdioTarget {
  return {
    kind: 'stdio',
    ...entry,
    runAs: entry.runAs,
    ...environments(entry.env),
    command: programAt(entry.command, folder),
    wrap: entry.wrap.map((word, index) => (index === 0 ? programAt(word, folder) : word)),
    cwd: resolve(folder, entry.cwd ?? '.'),
  };
}

/** A name without a slash is looked up on PATH; a relative path starts at the folder. */
function programAt(command: string, folder: string): string {
  return command.includes('/') && !isAbsolute(command) ? resolve(folder, command) : command;
}

/** Whether a variable depends on the client. */
export function hasPrincipalVariable({ env }: { readonly env: unknown }): boolean {
  return Object.values(env ?? {}).some(
    (value) => typeof value === 'string' && isOfPrincipal(parseLiveText(value) ?? []),
  );
}

function environments(env: Readonly<Record<string, string>>): Pick<StdioTarget, 'env' | 'liveEnv'> {
  const live = Object.entries(env).flatMap(([name, value]): [string, LiveText][] => {
    const parts = parseLiveText(value) ?? [];
    return isLive(parts) ? [[name, parts]] : [];
  });
  const plain = Object.entries(env).map(([name, value]) => [name, plainText(value)]);
  return { env: Object.fromEntries(plain), liveEnv: Object.fromEntries(live) };
}

function isVariableName(name: string): boolean {
  return /^[^\s=\0]+$/.test(name);
}
