// Helpers for paths and folders.
import { accessSync, constants, lstatSync, statSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import { codeOf } from './errors.ts';

/** Makes a path absolute: a relative one starts at `folder`. */
export function absolutePath<P extends string | undefined>(path: P, folder: string): P | string {
  return path === undefined || isAbsolute(path) ? path : resolve(folder, path);
}

/** Whether `path` is a folder, or a link to one. */
export function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // it doesn't exist, or can't be reached
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
 * Why a folder can't be written to, or can't be created.
 * @param path absolute
 * @returns the system's error code; undefined if it looks possible
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
