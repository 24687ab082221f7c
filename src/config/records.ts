// Maps of plain values, as every syntax gives them.

/** Whether a value is a map; a list is none. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at a path of keys; undefined when there is none. */
export function valueUnder(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const key of path) {
    found = isRecord(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return found;
}
