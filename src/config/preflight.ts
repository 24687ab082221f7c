// Whether what a configuration names is there: programs, folders, files. What would keep the gateway
// from starting is an error; what would keep one server from starting is a warning, since it may come
// later. Looked at by those commands only that need it to be there.
import { dirname } from 'node:path';
import { readKeyFile } from '../auth/key-file.ts';
import { messageOf, UserFileError } from '../base/errors.ts';
import { isFolder, isLink } from '../base/folders.ts';
import { pemFaults } from '../base/pem-files.ts';
import { lockFileOf, readLockFile } from '../catalog/pins/lock-file.ts';
import type { ServerOptions } from '../upstream/options.ts';
import { findProgram } from '../upstream/stdio/program.ts';
import type { Config } from './config.ts';
import { type ConfigPath, describe, type Fault } from './issues.ts';

/** What the surroundings are looked at with. */
export interface PreflightContext {
  /** The gateway's own variables. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where an option of a server's stands, by its path in an entry of the gateway's own form. */
  readonly placeOf: (server: string, own: ConfigPath) => ConfigPath;
  /** Says that the value at a path must not be shown in messages. */
  readonly isHidden: (path: ConfigPath) => boolean;
}

/** What is not as the configuration says. */
export interface Findings {
  readonly faults: readonly Fault[];
  readonly warnings: readonly Fault[];
}

/** Looks at everything that a configuration names. */
export function preflight(config: Config, context: PreflightContext): Findings {
  const servers = config.servers.map((server) => lookAtServer(server, context));
  return {
    faults: [...lookAtOwnFiles(config), ...servers.flatMap(({ faults }) => faults)],
    warnings: servers.flatMap(({ warnings }) => warnings),
  };
}

function lookAtOwnFiles({ listen, auth, audit, file }: Config): Fault[] {
  const { cert, key, clientCa: ca } = listen.tls ?? {};
  const faults = pemFaults({ cert, key, ca }).map((fault) =>
    at(['listen', 'tls', fault.file === 'ca' ? 'clientCa' : fault.file], fault.message),
  );
  if (auth?.keys !== undefined) faults.push(...lookAtKeys(auth.keys.file));
  if (audit.to !== undefined && audit.to !== 'stdout') faults.push(...lookAtAuditFile(audit.to));
  if (file !== undefined) faults.push(...complaintsOf([], () => readLockFile(lockFileOf(file))));
  return faults;
}

function lookAtAuditFile(path: string): Fault[] {
  const place = ['audit', 'to'];
  if (!isFolder(dirname(path))) {
    return [at(place, `is ${path}, but there is no such folder: make it, or correct the path`)];
  }
  if (!isLink(path)) return [];
  return [at(place, `is ${path}, a symbolic link: must be the path of the file itself, or stdout`)];
}

function lookAtKeys(path: string): Fault[] {
  const place = ['auth', 'keys', 'file'];
  let count = 0;
  const faults = complaintsOf(place, () => {
    count = readKeyFile(path)?.length ?? 0;
  });
  if (faults.length > 0 || count > 0) return faults;
  const advice = `make one with sluice keys add --file ${path} --name NAME`;
  return [at(place, `is ${path}, which has no key yet: ${advice}`)];
}

/** What the reader of a file says against it. */
function complaintsOf(path: ConfigPath, read: () => unknown): Fault[] {
  try {
    read();
    return [];
  } catch (error) {
    if (!(error instanceof UserFileError)) throw error;
    return [at(path, messageOf(error))];
  }
}

function lookAtServer(server: ServerOptions, context: PreflightContext): Findings {
  const place = (...own: ConfigPath): ConfigPath => context.placeOf(server.name, own);
  const { target } = server;
  if (target.kind === 'remote') {
    const files = pemFaults(target.tls);
    const warnings = files.map(({ file, message }) => at(place('tls', file), message));
    return { faults: [], warnings };
  }
  const warnings: Fault[] = [];
  if (!isFolder(target.cwd)) {
    const message = `is ${target.cwd}, but there is no such folder: make it, or correct the path`;
    warnings.push(at(place('cwd'), message));
  }
  const [wrapper] = target.wrap;
  const where = { path: target.env['PATH'] ?? context.environment['PATH'], cwd: target.cwd };
  const program = wrapper ?? target.command;
  if (findProgram(program, where) !== undefined) return { faults: [], warnings };
  const path = wrapper === undefined ? place('command') : place('wrap', 0);
  const isHidden = context.isHidden(path);
  if (wrapper === undefined && isCommandLine(program, where)) {
    const [word, ...args] = program.trim().split(/\s+/);
    const example = isHidden ? '' : `: command: ${word}, args: [${args.join(', ')}]`;
    const message = `is ${describe(program, isHidden)}, a whole command line: must be the program alone, put its arguments in args${example}`;
    return { faults: [at(path, message)], warnings };
  }
  const advice = program.includes('/')
    ? 'but there is no such file that may be run: install it, correct the path, or chmod +x it'
    : 'but there is no such program on PATH: install it, or write its path';
  warnings.push(at(path, `is ${describe(program, isHidden)}, ${advice}`));
  return { faults: [], warnings };
}

/** No program of that name is there, and what it starts with is one, or is meant to be one. */
function isCommandLine(program: string, where: Parameters<typeof findProgram>[1]): boolean {
  const [word = '', ...args] = program.trim().split(/\s+/);
  // A path may have spaces; a name that is looked up on PATH hardly has, and no program starts with -.
  const isMeant = !word.includes('/') || args.some((arg) => arg.startsWith('-'));
  return args.length > 0 && (isMeant || findProgram(word, where) !== undefined);
}

function at(path: ConfigPath, message: string): Fault {
  return { path, at: 'value', message };
}
