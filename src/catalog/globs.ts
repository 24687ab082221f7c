// Filters over names and URIs: lists of globs that let through or keep out.
import { matchesGlob } from '../base/glob.ts';

/** What of a list is shown. */
export interface Filter {
  /** Globs; absent shows everything. */
  readonly allow?: readonly string[] | undefined;
  /** Globs; wins over `allow`. */
  readonly deny?: readonly string[] | undefined;
}

/**
 * Whether a filter lets a name or URI through.
 *
 * @param filter undefined lets everything through
 * @param text a name or a URI
 */
export function passesFilter(filter: Filter | undefined, text: string): boolean {
  if (filter?.deny?.some((glob) => matchesGlob(glob, text)) === true) return false;
  return filter?.allow?.some((glob) => matchesGlob(glob, text)) ?? true;
}
