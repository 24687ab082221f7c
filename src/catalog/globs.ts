// Filters for names: lists of globs that allow or deny.
import { matchesGlob } from '../base/glob.ts';

/** Which entries are shown. */
export interface Filter {
  /** Globs; absent: everything is allowed. */
  readonly allow?: readonly string[] | undefined;
  /** Globs; these win over `allow`. */
  readonly deny?: readonly string[] | undefined;
}

/**
 * Whether a filter allows a name or URI.
 * @param filter undefined: everything is allowed
 * @param text a name or a URI
 */
export function passesFilter(filter: Filter | undefined, text: string): boolean {
  if (filter?.deny?.some((glob) => matchesGlob(glob, text)) === true) return false;
  return filter?.allow?.some((glob) => matchesGlob(glob, text)) ?? true;
}
