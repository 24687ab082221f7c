// What stands at a path.
import { lstatSync, statSync } from 'node:fs';

/** Whether `path` is a folder, or a link to one. */
export function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // not there, or behind a folder that may not be entered
  }
}

/** Whether `path` itself is a symbolic link. */
export function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}
