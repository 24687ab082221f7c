// Limits for schemas, which are checked before compiling. Servers choose schemas, and a compiled schema can
// be many times as large as its text.
import { isObject } from '../../jsonrpc/parse.ts';

/** The largest text of a schema, in bytes. */
export const MAX_SCHEMA_BYTES = 256 * 1024;
const MAX_NESTING = 64;
const MAX_VALUES = 20_000;

/**
 * Why a schema is not compiled.
 * @param schema parsed JSON
 * @returns undefined if it is within the limits
 */
export function beyondBounds(schema: unknown): string | undefined {
  let level: readonly unknown[] = [schema];
  let count = 0;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_NESTING) return `it is nested more than ${MAX_NESTING} levels deep`;
    count += level.length;
    if (count > MAX_VALUES) return `it has more than ${MAX_VALUES} values`;
    // `$async` would make the check return a promise. It is not part of JSON Schema.
    if (level.some((value) => isObject(value) && Object.hasOwn(value, '$async'))) {
      return 'it has $async, which is no keyword of JSON Schema';
    }
    level = level.flatMap(childrenOf);
  }
  return undefined;
}

function childrenOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return isObject(value) ? Object.values(value) : [];
}
