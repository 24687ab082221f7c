// What stands at a path, and paths that are relative to a folder.
import { accessSync, constants, lstatSync, statSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import { codeOf } from './errors.ts';

/** A path that starts at a folder unless it is absolute, which is left as it is written. */
export function absolutePath<P extends string | undefined>(path: P, folder: string): P | string {
  return path === undefined || isAbsolute(path) ? path : resolve(folder, path);
}

/** Whether `path` is a folder, or a link to one. */
export function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // not there, or behind a folder that may not be entered
  }
}

/** Whether `path` is a file, or a link to one. */
export function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
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

/**
 * Why nothing can be written into a folder, or made where it is to be.
 * @param path absolute
 * @returns the system's word for it; undefined: it looks as if it could
 */
export function whyNotWritable(path: string): string | undefined {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const isMissing = codeOf(error) === 'ENOENT' && dirname(path) !== path;
    return isMissing ? whyNotWritable(dirname(path)) : (codeOf(error) ?? 'unknown error');
  }
}
