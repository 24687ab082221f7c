// The folder for what outlives the process. Only its owner may enter it, and one process at a time uses it. A
// reader of a file gets the old or the new content, never a part of it.
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { readBoundedFile, UnusableFile } from '../base/bounded-file.ts';
import { codeOf, messageOf, UserFileError } from '../base/errors.ts';
import type { Logger } from '../observe/logger.ts';
import { type FolderLock, takeLock } from './folder-lock.ts';

const OWNER_ONLY = 0o600;
const FOLDER_MODE = 0o700;
const PERMISSIONS = 0o777;
const MAX_PID_BYTES = 32;
/** The process that has the lock. */
const PID = 'pid';
const LOCK = 'lock';

/** A data folder that only this process uses. */
export class DataFolder {
  /** Absolute. */
  readonly path: string;
  readonly #lock: FolderLock;

  private constructor(path: string, lock: FolderLock) {
    this.path = path;
    this.#lock = lock;
  }

  /**
   * Opens a folder. It is created if it does not exist.
   * @param path absolute
   * @throws UserFileError if it can't be used, or another process uses it
   */
  static async open(path: string, logger: Logger): Promise<DataFolder> {
    try {
      makeFolder(path, logger);
      const lockFile = join(path, LOCK);
      // Only if it does not exist: closing any file descriptor of a locked file releases the lock of this
      // process.
      if (!existsSync(lockFile)) closeSync(openSync(lockFile, 'a', OWNER_ONLY));
      const lock = await takeLock(lockFile);
      if (lock === undefined) throw new UserFileError(inUse(path));
      const folder = new DataFolder(path, lock);
      folder.#writePid(logger);
      return folder;
    } catch (error) {
      if (error instanceof UserFileError) throw error;
      throw unusable(path, error);
    }
  }

  /** The path of one of its files. */
  pathOf(name: string): string {
    return join(this.path, name);
  }

  /**
   * Reads a file.
   * @returns undefined if it does not exist
   * @throws UserFileError if it can't be read, or is larger than `maxBytes`
   */
  read(name: string, maxBytes: number): Buffer | undefined {
    const path = this.pathOf(name);
    try {
      return readBoundedFile(path, maxBytes);
    } catch (error) {
      if (error instanceof UnusableFile && codeOf(error.cause) === 'ENOENT') return undefined;
      throw new UserFileError(`${path} can't be used, ${messageOf(error)}`, { cause: error });
    }
  }

  /**
   * Replaces a file.
   * @param isDurable whether the file must survive a crash of the machine; the call may then wait for
   *   a busy disk
   * @throws a system error if it can't be written; the old file then stays
   */
  write(name: string, text: string, isDurable: boolean): void {
    const path = this.pathOf(name);
    const next = `${path}.new`;
    try {
      const file = openSync(next, 'w', OWNER_ONLY);
      try {
        writeSync(file, text);
        if (isDurable) fsyncSync(file);
      } finally {
        closeSync(file);
      }
      renameSync(next, path);
    } catch (error) {
      rmSync(next, { force: true });
      throw error;
    }
  }

  /** Releases the folder for other processes. */
  close(): void {
    rmSync(this.pathOf(PID), { force: true });
    this.#lock.release();
  }

  /** The pid is only shown in errors of processes that come later. */
  #writePid(logger: Logger): void {
    try {
      this.write(PID, `${process.pid}\n`, false);
    } catch (error) {
      logger.warn({ path: this.pathOf(PID), why: messageOf(error) }, 'data folder: no pid written');
    }
  }
}

function makeFolder(path: string, logger: Logger): void {
  mkdirSync(path, { recursive: true, mode: FOLDER_MODE });
  if ((statSync(path).mode & PERMISSIONS) === FOLDER_MODE) return;
  try {
    chmodSync(path, FOLDER_MODE);
  } catch (error) {
    // For example a volume that an orchestrator made. The files are still closed to others.
    const text = 'data folder is open to other users, and its mode can not be changed';
    logger.warn({ path, why: messageOf(error) }, text);
  }
}

function inUse(path: string): string {
  const pid = pidIn(path);
  const who = pid === undefined ? 'another process' : `process ${pid}`;
  return `data is ${path}, which ${who} uses: stop it, or give each gateway a folder of its own`;
}

function pidIn(path: string): string | undefined {
  try {
    const text = readBoundedFile(join(path, PID), MAX_PID_BYTES).toString('latin1');
    return /^(\d+)\n$/.exec(text)?.[1];
  } catch {
    return undefined; // not written yet
  }
}

function unusable(path: string, error: unknown): UserFileError {
  const text = `data is ${path}, which can't be used: ${reasonOf(error)}`;
  return new UserFileError(text, { cause: error });
}

function reasonOf(error: unknown): string {
  switch (codeOf(error)) {
    case 'EEXIST':
    case 'ENOTDIR':
      return 'there is a file in its place; must be a folder';
    case 'EACCES':
    case 'EPERM':
      return 'it may not be written; check its owner and mode';
    case 'EROFS':
      return 'it is on a read-only file system; mount a volume there';
    default:
      return messageOf(error);
  }
}
