// A lock that belongs to one process, and ends with it in any case: the operating system holds it, so there
// are no stale locks that two processes could take over at once. SQLite, which is built into Node.js, can
// request such a lock. The file stays empty.
import { codeOf } from '../base/errors.ts';

/** If two processes start at once, one must wait for the other a moment. */
const WAIT_MS = 250;
/** SQLITE_BUSY. */
const BUSY = 5;

/** A lock that this process has. */
export interface FolderLock {
  release(): void;
}

/**
 * Takes the lock.
 * @param path of an empty file that no other code opens: closing another file descriptor of it would release
 *   the lock
 * @returns undefined if another process has it
 * @throws Error if the system supports no locks for the file
 */
export async function takeLock(path: string): Promise<FolderLock | undefined> {
  const { DatabaseSync } = await import('node:sqlite');
  const database = new DatabaseSync(path, { timeout: WAIT_MS });
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (codeOf(error) === 'ERR_SQLITE_ERROR' && errorNumberOf(error) === BUSY) return undefined;
    throw error;
  }
  return { release: () => database.close() };
}

function errorNumberOf(error: unknown): unknown {
  return error instanceof Error && 'errcode' in error ? error.errcode : undefined;
}
