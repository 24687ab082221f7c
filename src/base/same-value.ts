// Whether two values of the configuration are the same, however they are made up.
import { isDeepStrictEqual } from 'node:util';

/** Compares values, not objects: what is in them, and of which kind it is. */
export function isSameValue(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(one, other);
}
