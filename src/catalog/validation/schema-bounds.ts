// How large a schema may be before anybody tries to understand it. A server chooses its schemas, and
// what a compiler makes of one can be many times as long as the schema.
import { isObject } from '../../jsonrpc/parse.ts';

/** Largest text of a schema, in bytes. */
export const MAX_SCHEMA_BYTES = 256 * 1024;
const MAX_NESTING = 64;
const MAX_VALUES = 20_000;

/**
 * Why a schema is not looked at.
 * @param schema parsed JSON
 * @returns undefined when it is within bounds
 */
export function beyondBounds(schema: unknown): string | undefined {
  let level: readonly unknown[] = [schema];
  let count = 0;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_NESTING) return `it is nested more than ${MAX_NESTING} levels deep`;
    count += level.length;
    if (count > MAX_VALUES) return `it has more than ${MAX_VALUES} values`;
    // Its compiled form would answer with a promise, which is no part of JSON Schema.
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
