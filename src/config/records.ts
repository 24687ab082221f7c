// Maps of plain values, which all syntaxes produce.

/** Whether a value is a map, not a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at a path of keys; undefined if there is none. */
export function valueUnder(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const key of path) {
    found = isRecord(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return found;
}
