// Closes files, pipes and sockets that the gateway inherited. For child processes, Node closes only those
// with numbers up to 15.
import { closeSync, readdirSync, readFileSync } from 'node:fs';

/** Where Linux lists open files. Other systems don't pass them on. */
const OPEN_FILES = '/proc/self/fdinfo';
/** Stdin, stdout and stderr. */
const STANDARD = 3;
/** In octal, like the flags in that file; everything that Node opens itself has this flag. */
const CLOSE_ON_EXEC = 0o2000000;

let isDone = false;

/**
 * Closes them, so that no server inherits them. Safe to call twice: files that were opened later are the
 * gateway's own.
 */
export function closeInheritedFiles(): void {
  if (isDone) return;
  isDone = true;
  for (const fd of openFiles()) {
    if (fd < STANDARD || isOwn(fd)) continue;
    try {
      closeSync(fd);
    } catch {
      // It was closed meanwhile.
    }
  }
}

function openFiles(): number[] {
  try {
    return readdirSync(OPEN_FILES).map(Number);
  } catch {
    return [];
  }
}

function isOwn(fd: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`${OPEN_FILES}/${fd}`, 'latin1'))?.[1];
    return flags === undefined || (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) !== 0;
  } catch {
    // The file descriptor with which the list was read.
    return true;
  }
}
