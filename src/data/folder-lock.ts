// A lock that one process has and that ends with it, however it ends: the system holds it, so no stale one is
// left that two processes could take over at once. SQLite, which Node.js has built in, is what can ask for such
// a lock; the file stays empty.
import { codeOf } from '../base/errors.ts';

/** Two that start at once have to give way to each other for a moment. */
const WAIT_MS = 250;
/** SQLITE_BUSY. */
const BUSY = 5;

/** A lock that this process has. */
export interface FolderLock {
  release(): void;
}

/**
 * Takes the lock.
 * @param path of an empty file that nobody else opens: any other descriptor of it would lose the lock
 * @returns undefined when another process has it
 * @throws Error when the system gives no locks for the file
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
