// Options of a child process.
import { isAbsolute, resolve } from 'node:path';
import { z } from 'zod';
import { type KeyOptions, list, oneOf, section, text } from '../../base/options.ts';
import {
  isOfPrincipal,
  isTemplate,
  parseTextTemplate,
  plainText,
  type TextTemplate,
} from '../../base/text-template.ts';
import type { ResourceLimits } from './resource-limits.ts';
import { isId, type RunAs, resolveUser } from './run-as.ts';

const COMMAND = 'must be a command: a program on PATH, or a path';
const command = text('a command: a program on PATH, or a path').min(1, { error: COMMAND });

const environmentValue = z
  .string({ error: 'must be text: put it in quotes' })
  .refine((value) => parseTextTemplate(value) !== undefined, {
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

const USER_NAME = /^[A-Za-z_][A-Za-z0-9_.-]*\$?$/;
const id = z
  .union([z.string(), z.number()], { error: 'must be a name or a number' })
  .refine((value) => isId(value) || (typeof value === 'string' && USER_NAME.test(value)), {
    error: 'must be a name or a number',
  });
const runAs = section({
  user: id.describe('User name from /etc/passwd, or user id.'),
  group: id.optional().meta({
    description: 'Group name from /etc/group, or group id. Default: the primary group of the user.',
  }),
}).transform((value, context): RunAs => {
  const found = resolveUser(value.user, value.group);
  if (typeof found !== 'string') return found;
  context.issues.push({ code: 'custom', message: found, input: value });
  return z.NEVER;
});

/** The keys of an entry that say what to start. */
export const processKeys = {
  command: command.meta({
    description:
      'The program to start. A name without a slash is looked up on PATH once. A relative path is relative to the configuration file.',
  }),
  args: list(text('text: put it in quotes'), 'a list of texts').prefault([]).meta({
    shown: 'arguments',
    description: 'Arguments of the program. No shell changes them.',
  }),
  env: environment.prefault({}).meta({
    shown: 'variables',
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
  runAs: runAs.optional().meta({
    description:
      'Run the process as another user. The gateway must run as root, or have CAP_SETUID, CAP_SETGID and CAP_KILL.',
  }),
  wrap: list(text('text: put it in quotes'), 'a list of texts').prefault([]).meta({
    shown: 'arguments',
    description:
      'A command that starts the server, such as a sandbox. `command` and `args` are added at its end. Example: `[bwrap, --ro-bind, /, /, --dev, /dev, --unshare-pid, --proc, /proc, --die-with-parent, --]`.',
  }),
};

/** How messages are separated. */
export const framingKey = {
  framing: oneOf(['newline', 'content-length']).prefault('newline').meta({
    description:
      'How messages are separated: by newlines, or by `Content-Length` headers. `content-length` needs `protocol: jsonrpc`.',
  }),
};

type ProcessEntry = KeyOptions<typeof processKeys & typeof framingKey>;

/** A server that is a child process on stdio. Paths are absolute. */
export interface StdioTarget extends ProcessEntry {
  readonly kind: 'stdio';
  readonly cwd: string;
  /** The variables of `env` that are made at each start; `env` has them as they were loaded. */
  readonly envTemplates: Readonly<Record<string, TextTemplate>>;
  readonly resources: ResourceLimits;
}

/**
 * Makes the paths of an entry absolute.
 * @param folder absolute; the base of relative paths
 */
export function resolveProcess(
  entry: ProcessEntry & { readonly resources: ResourceLimits },
  folder: string,
): StdioTarget {
  return {
    kind: 'stdio',
    ...entry,
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
export function hasPrincipalVariable(env: unknown): boolean {
  return Object.values(env ?? {}).some(
    (value) => typeof value === 'string' && isOfPrincipal(parseTextTemplate(value) ?? []),
  );
}

function environments(
  env: Readonly<Record<string, string>>,
): Pick<StdioTarget, 'env' | 'envTemplates'> {
  const live = Object.entries(env).flatMap(([name, value]): [string, TextTemplate][] => {
    const parts = parseTextTemplate(value) ?? [];
    return isTemplate(parts) ? [[name, parts]] : [];
  });
  const plain = Object.entries(env).map(([name, value]) => [name, plainText(value)]);
  return { env: Object.fromEntries(plain), envTemplates: Object.fromEntries(live) };
}

function isVariableName(name: string): boolean {
  return /^[^\s=\0]+$/.test(name);
}
