// What a user may say about a child process: the type after load and the keys that it is made from.
import { isAbsolute, resolve } from 'node:path';
import { z } from 'zod';
import { list, oneOf, text } from '../../base/options.ts';

/** A server that is a child process on stdio. */
export interface StdioTarget {
  readonly kind: 'stdio';
  /** `content-length` is what language servers use; only with protocol jsonrpc. */
  readonly framing: 'newline' | 'content-length';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Names of the gateway's own variables that the child gets besides the minimal set. */
  readonly inheritEnv: readonly string[];
  /** Absolute. */
  readonly cwd: string;
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

/** The keys of an entry that say what to start. */
export const processKeys = {
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
};

/** How messages are told apart. */
export const framingKey = {
  framing: oneOf(['newline', 'content-length']).prefault('newline').meta({
    description: 'How messages are told apart; `content-length` only with `protocol: jsonrpc`.',
  }),
};

/** What the keys say, not yet resolved. */
export interface ProcessEntry extends Omit<StdioTarget, 'kind' | 'cwd'> {
  readonly cwd?: string | undefined;
}

/**
 * Makes the paths of an entry absolute.
 *
 * @param entry what the file says
 * @param folder absolute; what relative paths start at
 * @returns the target
 */
export function resolveProcess(entry: ProcessEntry, folder: string): StdioTarget {
  const isRelativePath = entry.command.includes('/') && !isAbsolute(entry.command);
  return {
    kind: 'stdio',
    ...entry,
    command: isRelativePath ? resolve(folder, entry.command) : entry.command,
    cwd: resolve(folder, entry.cwd ?? '.'),
  };
}

function isVariableName(name: string): boolean {
  return /^[^\s=\0]+$/.test(name);
}
