// The program file of a server. It is looked up once, on the PATH of its process, and that file is started
// from then on. So a new file in an earlier folder of PATH does not change what runs. If the file itself has
// changed, a start logs it (docs/reliability.md#e07).
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import type { Logger } from '../../observe/logger.ts';

/** Where the system looks without PATH. */
const DEFAULT_PATH = '/usr/bin:/bin';
/** Files that runtimes execute. */
const SCRIPT = /\.(?:[cm]?[jt]s|py|rb|sh|jar|php|pl|lua|dll|wasm)$/i;

/** A program on disk. */
export interface ProgramFile {
  /** Absolute, with its links: a program may depend on the name by which it is started. */
  readonly path: string;
  /** With all links resolved. */
  readonly realPath: string;
  /** Changes when the file is replaced or written to. */
  readonly mark: string;
}

/** Where a program is looked up. */
export interface ProgramPlace {
  /** The variable PATH of the process; undefined if it has none. */
  readonly path: string | undefined;
  /** Absolute; the base of relative folders in PATH. */
  readonly cwd: string;
}

/**
 * Looks up a program like the system does.
 * @param command a name, or an absolute path
 * @returns undefined if there is no such executable program
 */
export function findProgram(command: string, { path, cwd }: ProgramPlace): ProgramFile | undefined {
  if (command.includes('/')) return look(resolve(cwd, command));
  for (const folder of (path ?? DEFAULT_PATH).split(delimiter)) {
    const file = look(resolve(cwd, folder, command));
    if (file !== undefined) return file;
  }
  return undefined;
}

/** The program of one server. */
export class Program {
  readonly #command: string;
  readonly #logger: Logger;
  #file: ProgramFile | undefined;

  /** @param command a name, or an absolute path */
  constructor(command: string, place: ProgramPlace, logger: Logger) {
    this.#command = command;
    this.#logger = logger;
    this.#found(findProgram(command, place));
  }

  /**
   * The file to start. If it was not found before, or no longer exists, it is looked up again.
   * @returns an absolute path, or the command if there is no such program
   */
  locate(place: ProgramPlace): string {
    const before = this.#file;
    const now =
      (before === undefined ? undefined : look(before.path)) ?? findProgram(this.#command, place);
    if (now === undefined) return before?.path ?? this.#command;
    if (before === undefined) {
      this.#found(now);
    } else if (now.mark !== before.mark || now.path !== before.path) {
      this.#file = now;
      const { path, realPath } = now;
      this.#logger.warn(
        { command: this.#command, path, realPath, before: before.realPath },
        'program of the server has changed since its last start; it is started anyway',
      );
    }
    return now.path;
  }

  /**
   * Identifies the version of the program. Changes when its file changes, or an argument, or a script that an
   * argument names. Other files in arguments are data, which changes anyway.
   */
  version(args: readonly string[], cwd: string): string {
    const files = args.map((arg) => (SCRIPT.test(arg) ? markOfArgument(arg, cwd) : ''));
    return [this.#file?.mark ?? '', ...args, ...files].join('\0');
  }

  #found(file: ProgramFile | undefined): void {
    this.#file = file;
    if (file === undefined) return;
    const { path, realPath } = file;
    this.#logger.debug({ command: this.#command, path, realPath }, 'program of the server');
  }
}

/** Empty if an argument names no file. */
function markOfArgument(arg: string, cwd: string): string {
  try {
    return markOf(resolve(cwd, arg));
  } catch {
    return ''; // not a path, or the gateway may not read it
  }
}

/** Empty if the file does not exist. */
function markOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isFile() !== true) return '';
  const { dev, ino, size, mtimeMs } = stats;
  return `${dev}:${ino}:${size}:${mtimeMs}`;
}

function look(path: string): ProgramFile | undefined {
  try {
    const realPath = realpathSync(path);
    const mark = markOf(realPath);
    if (mark === '') return undefined;
    accessSync(realPath, constants.X_OK);
    return { path, realPath, mark: `${realPath}:${mark}` };
  } catch {
    return undefined; // it does not exist, or the gateway may not read it: the system reports this at the start
  }
}
