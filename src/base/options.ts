// The kinds of value that options are made of, as zod schemas: the raw YAML on the way in, plain
// numbers in milliseconds and bytes on the way out. Each kind's message says what would be right
// and starts with `must be`; config/issues.ts puts what is there in front of it.
import { z } from 'zod';
import { formatByteSize, MAX_BYTE_SIZE, parseByteSize } from './byte-size.ts';
import { formatDuration, MAX_DURATION_MS, parseDuration } from './duration.ts';

/** The message kind of an unknown key: the keys that are known, for config/issues.ts to choose from. */
export const KNOWN_KEYS = 'known keys:';

/**
 * A map with exactly these keys. The message of its `unrecognized_keys` issue lists the known ones.
 *
 * @param shape the schema of each key
 * @returns the schema
 */
export function section<Shape extends z.ZodRawShape>(
  shape: Shape,
): z.ZodObject<Shape, z.core.$strict> {
  const known = `${KNOWN_KEYS} ${Object.keys(shape).join(' ')}`;
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? known : 'must be a map of options'),
  });
}

/**
 * Any text without NUL, which neither the system nor a header can carry.
 *
 * @param what what would be right, after `must be`
 * @returns the schema
 */
export function text(what: string): z.ZodString {
  return z
    .string({ error: `must be ${what}` })
    .refine((value) => !value.includes('\0'), { error: 'must be text without a NUL character' });
}

/**
 * A whole number in a range.
 *
 * @param min smallest value
 * @param max largest value
 * @returns the schema
 */
export function integer(min: number, max: number): z.ZodNumber {
  const error = `must be a whole number from ${min} to ${max}`;
  // Not z.int(): a fraction would keep the rules of the map around it from running.
  return z
    .number({ error })
    .refine((value) => Number.isInteger(value) && value >= min && value <= max, { error })
    .meta({ type: 'integer', minimum: min, maximum: max });
}

/** true or false. */
export function flag(): z.ZodBoolean {
  return z.boolean({ error: 'must be true or false' });
}

/**
 * One of some words.
 *
 * @param words the words
 * @returns the schema
 */
export function oneOf<const Words extends readonly [string, string, ...string[]]>(
  words: Words,
): z.ZodEnum<{ [Word in Words[number]]: Word }> {
  return z.enum(words, { error: `must be one of ${words.join(', ')}` });
}

/**
 * A list.
 *
 * @param item the schema of each item
 * @param what what would be right, after `must be`
 * @returns the schema
 */
export function list<Item extends z.ZodType>(item: Item, what: string): z.ZodArray<Item> {
  return z.array(item, { error: `must be ${what}` });
}

/**
 * A duration; milliseconds after parsing.
 *
 * @param minMs smallest value in milliseconds
 * @returns the schema
 */
export function duration(minMs: number): z.ZodType<number, string> {
  const least = minMs === 0 ? '' : `, at least ${formatDuration(minMs)}`;
  const error = `must be a duration such as 250ms, 30s, 5m or 2h${least}, at most ${Math.floor(MAX_DURATION_MS / 3_600_000)}h`;
  return z
    .string({ error })
    .meta({ pattern: '^(\\d+(ms|s|m|h)|.*\\$\\{.*)$', format: 'duration' })
    .transform((value, context) => {
      const ms = parseDuration(value);
      if (ms === undefined || ms < minMs) {
        context.issues.push({ code: 'custom', message: error, input: value });
        return z.NEVER;
      }
      return ms;
    });
}

/**
 * A size; bytes after parsing.
 *
 * @param minBytes smallest value in bytes
 * @param maxBytes largest value in bytes
 * @returns the schema
 */
export function byteSize(minBytes: number, maxBytes = MAX_BYTE_SIZE): z.ZodType<number, string> {
  const error = `must be a size such as 64KiB or 4MiB, from ${formatByteSize(minBytes)} to ${formatByteSize(maxBytes)}`;
  return z
    .string({ error })
    .meta({ pattern: '^(\\d+(B|KiB|MiB|GiB)|.*\\$\\{.*)$', format: 'size' })
    .transform((value, context) => {
      const bytes = parseByteSize(value, maxBytes);
      if (bytes === undefined || bytes < minBytes) {
        context.issues.push({ code: 'custom', message: error, input: value });
        return z.NEVER;
      }
      return bytes;
    });
}

/**
 * Rules between keys of one map run beside the other checks, so that one run reports everything;
 * a rule must therefore cope with members that are missing or of a wrong type.
 *
 * @param payload what zod checks
 * @returns whether there is a map to look at
 */
export function isMap(payload: { value: unknown }): boolean {
  return (
    typeof payload.value === 'object' && payload.value !== null && !Array.isArray(payload.value)
  );
}
