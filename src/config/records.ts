// Maps of plain values, as every syntax gives them.

/**
 * Whether a value is a map.
 *
 * @param value anything
 * @returns true for maps, false for lists
 */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * The value at a path.
 *
 * @param value where the path starts
 * @param path keys of maps
 * @returns undefined when there is none
 */
export function valueUnder(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const key of path) {
    found = isRecord(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return found;
}
