// Checks whether everything that a configuration names exists: programs, folders, files. If it stops the
// gateway from starting, it is an error. If it stops one server, it is a warning, because it may be created
// later. Only some commands check this.
import { dirname } from 'node:path';
import { readKeyFile } from '../auth/key-file.ts';
import { messageOf, UserFileError } from '../base/errors.ts';
import { isFolder, isLink } from '../base/folders.ts';
import { pemFaults } from '../base/pem-files.ts';
import { lockFileOf, readLockFile } from '../catalog/pins/lock-file.ts';
import type { ServerOptions } from '../upstream/options.ts';
import { findProgram } from '../upstream/stdio/program.ts';
import type { Config } from './config.ts';
import { type ConfigPath, describe, Findings } from './issues.ts';

/** What is needed for the checks. */
export interface PreflightContext {
  /** The environment variables of the gateway. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The path in the file for a path in an entry of the gateway's form. */
  readonly placeOf: (server: string, own: ConfigPath) => ConfigPath;
  /** Whether the value at a path must not be shown in messages. */
  readonly isHidden: (path: ConfigPath) => boolean;
}

/** Checks everything that a configuration names. */
export function preflight(config: Config, context: PreflightContext): Findings {
  const found = new Findings();
  lookAtOwnFiles(config, found);
  for (const server of config.servers) lookAtServer(server, context, found);
  return found;
}

function lookAtOwnFiles({ listen, auth, audit, file }: Config, found: Findings): void {
  const { cert, key, clientCa: ca } = listen.tls ?? {};
  for (const { file: name, message } of pemFaults({ cert, key, ca })) {
    found.fault(['listen', 'tls', name === 'ca' ? 'clientCa' : name], message);
  }
  if (auth?.keys !== undefined) lookAtKeys(auth.keys.file, found);
  if (audit.to !== undefined && audit.to !== 'stdout') lookAtAuditFile(audit.to, found);
  if (file !== undefined) readAt([], () => readLockFile(lockFileOf(file)), found);
}

function lookAtAuditFile(path: string, found: Findings): void {
  const place = ['audit', 'to'];
  if (!isFolder(dirname(path))) {
    found.fault(place, `is ${path}, but there is no such folder: make it, or correct the path`);
  } else if (isLink(path)) {
    found.fault(
      place,
      `is ${path}, a symbolic link: must be the path of the file itself, or stdout`,
    );
  }
}

function lookAtKeys(path: string, found: Findings): void {
  const place = ['auth', 'keys', 'file'];
  const keys = readAt(place, () => readKeyFile(path) ?? [], found);
  if (keys?.length !== 0) return;
  const advice = `make one with sluice keys add --file ${path} --name NAME`;
  found.fault(place, `is ${path}, which has no key yet: ${advice}`);
}

/** Reads something; if that fails, reports an error and returns undefined. */
function readAt<T>(path: ConfigPath, read: () => T, found: Findings): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof UserFileError)) throw error;
    found.fault(path, messageOf(error));
    return undefined;
  }
}

function lookAtServer(server: ServerOptions, context: PreflightContext, found: Findings): void {
  const place = (...own: ConfigPath): ConfigPath => context.placeOf(server.name, own);
  const { target } = server;
  if (target.kind === 'remote') {
    for (const { file, message } of pemFaults(target.tls)) found.warn(place('tls', file), message);
    return;
  }
  if (!isFolder(target.cwd)) {
    const message = `is ${target.cwd}, but there is no such folder: make it, or correct the path`;
    found.warn(place('cwd'), message);
  }
  const [wrapper] = target.wrap;
  const where = { path: target.env['PATH'] ?? context.environment['PATH'], cwd: target.cwd };
  const program = wrapper ?? target.command;
  if (findProgram(program, where) !== undefined) return;
  const path = wrapper === undefined ? place('command') : place('wrap', 0);
  const isHidden = context.isHidden(path);
  if (wrapper === undefined && isCommandLine(program, where)) {
    const [word, ...args] = program.trim().split(/\s+/);
    const example = isHidden ? '' : `: command: ${word}, args: [${args.join(', ')}]`;
    const message = `is ${describe(program, isHidden)}, a whole command line: must be the program alone, put its arguments in args${example}`;
    found.fault(path, message);
    return;
  }
  const advice = program.includes('/')
    ? 'but there is no such file that may be run: install it, correct the path, or chmod +x it'
    : 'but there is no such program on PATH: install it, or write its path';
  found.warn(path, `is ${describe(program, isHidden)}, ${advice}`);
}

/** There is no program with this name, but its first word is a program, or looks like one. */
function isCommandLine(program: string, where: Parameters<typeof findProgram>[1]): boolean {
  const [word = '', ...args] = program.trim().split(/\s+/);
  // A path may contain spaces. A name without a slash hardly ever does, and an argument that begins with -
  // shows a command line.
  const isMeant = !word.includes('/') || args.some((arg) => arg.startsWith('-'));
  return args.length > 0 && (isMeant || findProgram(word, where) !== undefined);
}
