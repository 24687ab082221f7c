// Building blocks of options, as zod schemas: they take the raw YAML and give plain numbers in milliseconds
// and bytes. An error message says what would be right and starts with `must be`; config/issues.ts adds the
// present value. An option is written only once, as a schema: its type is the schema's output, its name is
// the one in the file, and its description is its documentation.
import { z } from 'zod';
import { formatByteSize, MAX_BYTE_SIZE, parseByteSize } from './byte-size.ts';
import { formatDuration, MAX_DURATION_MS, parseDuration } from './duration.ts';
import { isLoopbackHost } from './loopback.ts';

/** The type that a schema gives: read-only; durations in milliseconds, sizes in bytes. */
export type Options<Schema extends z.ZodType> = Frozen<z.output<Schema>>;

/** The type that a map with these keys gives. */
export type KeyOptions<Shape extends z.ZodRawShape> = Options<z.ZodObject<Shape>>;

type Frozen<T> = T extends object ? { readonly [Key in keyof T]: Frozen<T[Key]> } : T;

/** Begins the message for an unknown key; the known keys follow, from which config/issues.ts suggests one. */
export const KNOWN_KEYS = 'known keys:';

/** A map with exactly these keys. The message of its `unrecognized_keys` issue lists the known ones. */
export function section<Shape extends z.ZodRawShape>(
  shape: Shape,
): z.ZodObject<Shape, z.core.$strict> {
  const known = `${KNOWN_KEYS} ${Object.keys(shape).join(' ')}`;
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? known : 'must be a map of options'),
  });
}

/**
 * Any text without NUL, which neither the system nor a header accepts.
 * @param what what would be right, after `must be`
 */
export function text(what: string): z.ZodString {
  return z
    .string({ error: `must be ${what}` })
    .refine((value) => !value.includes('\0'), { error: 'must be text without a NUL character' });
}

/** Like `text`, but not empty. */
export function filledText(what: string, error = `must be ${what}`): z.ZodString {
  return text(what).refine((value) => value !== '', { error });
}

/** An address to listen on. */
export function address(): z.ZodString {
  return text('an address such as 127.0.0.1').refine((value) => /^[^\s/[\]]+$/.test(value), {
    error: 'must be an address such as 127.0.0.1 or ::1, without a port or brackets',
  });
}

/**
 * Whether a text is an http or https URL without user name and password.
 * @param unwanted other parts that it must not have
 */
export function isUrl(value: string, unwanted: RegExp): boolean {
  const url = URL.parse(value);
  if (url === null || !/^https?:$/.test(url.protocol)) return false;
  return url.username === '' && url.password === '' && !unwanted.test(value);
}

/** Like `isUrl`, but http only for this machine, because secrets are sent there. */
export function isSecureUrl(value: string, unwanted: RegExp): boolean {
  if (!isUrl(value, unwanted)) return false;
  const { protocol, hostname } = new URL(value);
  return protocol === 'https:' || isLoopbackHost(hostname.replace(/^\[|\]$/g, ''));
}

/** A whole number in a range. */
export function integer(min: number, max: number): z.ZodNumber {
  const error = `must be a whole number from ${min} to ${max}`;
  // Not z.int(): a fraction would stop the rules of the surrounding map from running.
  return z
    .number({ error })
    .refine((value) => Number.isInteger(value) && value >= min && value <= max, { error })
    .meta({ type: 'integer', minimum: min, maximum: max });
}

/** true or false. */
export function flag(): z.ZodBoolean {
  return z.boolean({ error: 'must be true or false' });
}

/** One of the given words. */
export function oneOf<const Words extends readonly [string, string, ...string[]]>(
  words: Words,
): z.ZodEnum<{ [Word in Words[number]]: Word }> {
  return z.enum(words, { error: `must be one of ${words.join(', ')}` });
}

/**
 * A list.
 *
 * @param what what would be right, after `must be`
 */
export function list<Item extends z.ZodType>(item: Item, what: string): z.ZodArray<Item> {
  return z.array(item, { error: `must be ${what}` });
}

/**
 * Secrets that keys are made of. The first one encrypts, all of them decrypt.
 *
 * @param description what is encrypted with them, and what is done without any
 */
export function secretKeys(description: string): z.ZodPrefault<z.ZodArray<z.ZodString>> {
  const secret = text('a text of 32 characters or more').min(32).meta({ shown: 'secret' });
  return list(secret, 'a list of keys').prefault([]).meta({ description });
}

/** A duration of at least `minMs`; milliseconds after parsing. */
export function duration(minMs: number): z.ZodType<number, string> {
  const least = minMs === 0 ? '' : `, at least ${formatDuration(minMs)}`;
  const right = `a duration such as 250ms, 30s, 5m or 2h${least}, at most ${Math.floor(MAX_DURATION_MS / 3_600_000)}h`;
  return measure('duration', 'ms|s|m|h', right, (value) => {
    const ms = parseDuration(value);
    return ms !== undefined && ms >= minMs ? ms : undefined;
  });
}

/** A size in the given range; bytes after parsing. */
export function byteSize(minBytes: number, maxBytes = MAX_BYTE_SIZE): z.ZodType<number, string> {
  const right = `a size such as 64KiB or 4MiB, from ${formatByteSize(minBytes)} to ${formatByteSize(maxBytes)}`;
  return measure('size', 'B|KiB|MiB|GiB', right, (value) => {
    const bytes = parseByteSize(value, maxBytes);
    return bytes !== undefined && bytes >= minBytes ? bytes : undefined;
  });
}

/** A number with a unit. config/report.ts uses the format to write it again. */
function measure(
  format: 'duration' | 'size',
  units: string,
  right: string,
  parse: (value: string) => number | undefined,
): z.ZodType<number, string> {
  const error = `must be ${right}`;
  return z
    .string({ error })
    .meta({ pattern: `^(\\d+(${units})|.*\\$\\{.*)$`, format })
    .transform((value, context) => {
      const parsed = parse(value);
      if (parsed !== undefined) return parsed;
      context.issues.push({ code: 'custom', message: error, input: value });
      return z.NEVER;
    });
}

/** A condition on several keys of one map. */
export interface Rule<Value> {
  /** The key that is shown as wrong. */
  readonly at: string;
  readonly holds: (value: Value) => boolean;
  /** What is wrong with the value of that key. */
  readonly error: string;
}

/** Adds rules to a schema. */
export function withRules<Schema extends z.ZodType>(
  schema: Schema,
  rules: readonly Rule<z.output<Schema>>[],
): Schema {
  return rules.reduce(
    (all, { at, holds, error }) => all.refine(holds, { path: [at], when: isMap, error }),
    schema,
  );
}

/**
 * Splits a value: its members with some keys, and the other ones.
 * @param keys a map that has these keys
 */
export function split<T extends object, Key extends keyof T>(
  value: T,
  keys: Readonly<Record<Key, unknown>>,
): [Pick<T, Key>, Omit<T, Key>] {
  const members = Object.entries(value);
  const own = members.filter(([key]) => Object.hasOwn(keys, key));
  const others = members.filter(([key]) => !Object.hasOwn(keys, key));
  return [Object.fromEntries(own) as Pick<T, Key>, Object.fromEntries(others) as Omit<T, Key>];
}

/**
 * Rules between keys of one map run even if other checks failed, so that one run reports everything. So a
 * rule must accept members that are missing or have a wrong type.
 * @param payload what zod checks
 */
export function isMap(payload: { value: unknown }): boolean {
  return (
    typeof payload.value === 'object' && payload.value !== null && !Array.isArray(payload.value)
  );
}
