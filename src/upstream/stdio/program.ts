// Which file a server's program is. It is looked up once, on the PATH that its process will have, and that
// file is started from then on: nobody who comes to write to an earlier folder of PATH decides what runs.
// A start that finds another file in its place says so (docs/reliability.md#e07).
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import type { Logger } from '../../observe/logger.ts';

/** Where the system looks without PATH. */
const DEFAULT_PATH = '/usr/bin:/bin';
/** What runtimes are given to run. */
const SCRIPT = /\.(?:[cm]?[jt]s|py|rb|sh|jar|php|pl|lua|dll|wasm)$/i;

/** A program on disk. */
export interface ProgramFile {
  /** Absolute, as it is started: its links say what it is to itself, so they are kept. */
  readonly path: string;
  /** Behind all links. */
  readonly realPath: string;
  /** Another text when the file is another one, or was written to. */
  readonly mark: string;
}

/** Where a program is looked for. */
export interface ProgramPlace {
  /** The variable PATH of the process; undefined: it has none. */
  readonly path: string | undefined;
  /** Absolute; what relative folders of PATH start at. */
  readonly cwd: string;
}

/**
 * Looks a program up as the system would.
 * @param command a name, or an absolute path
 * @returns undefined when there is no such program that may be run
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
   * The file to start now. One that was never found is looked for again, and so is one that is gone.
   * @returns an absolute path, or the command as it is when there is no such program
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
        'program of the server is another file than at its last start; it is started all the same',
      );
    }
    return now.path;
  }

  /**
   * Which version of the program runs: another text when its file, an argument, or a script that an
   * argument names is another one. Other files that arguments name are data, which changes by itself.
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

/** Empty where an argument names no file. */
function markOfArgument(arg: string, cwd: string): string {
  try {
    return markOf(resolve(cwd, arg));
  } catch {
    return ''; // no path at all, or not for the gateway
  }
}

/** Empty where there is no such file. */
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
    return undefined; // not there, or not for the gateway: the system says which when it is started
  }
}
