// Files, pipes and sockets that the gateway itself was started with, by whoever started it. Node closes
// those up to number 15 to the processes that it starts, and no others.
import { closeSync, readdirSync, readFileSync } from 'node:fs';

/** Where Linux says which there are. Elsewhere the system gives none of them to other processes. */
const OPEN_FILES = '/proc/self/fdinfo';
/** Stdin, stdout and stderr. */
const STANDARD = 3;
/** In octal, as the flags are written there; all that Node opens itself has it. */
const CLOSE_ON_EXEC = 0o2000000;

let isDone = false;

/** Closes them, so that no server gets them. Safe to call twice: later ones are the gateway's own. */
export function closeInheritedFiles(): void {
  if (isDone) return;
  isDone = true;
  for (const fd of openFiles()) {
    if (fd < STANDARD || isOwn(fd)) continue;
    try {
      closeSync(fd);
    } catch {
      // Closed meanwhile.
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
    // The one that the list was read with.
    return true;
  }
}
