// Compiles a tool's schema to a function that checks arguments. Runs only in the validation process:
// compiling takes milliseconds, and the result may run forever (docs/adr/0006). Each schema is compiled by a
// new instance of ajv, so that a server's `$id` is not visible to other schemas, and nothing is kept.
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { messageOf } from '../../base/errors.ts';
import { isObject, parseSpan } from '../../jsonrpc/parse.ts';
import { jsonText } from '../../jsonrpc/serialize.ts';
import type { ArgumentError } from './jobs.ts';
import { beyondBounds } from './schema-bounds.ts';

const MAX_ERRORS = 10;
const MAX_TEXT = 200;
const SHOWN_VALUES = 10;
/** 19.99 is a multiple of 0.01, in spite of binary fractions. */
const PRECISION_DIGITS = 9;

/** A compiled schema. */
export interface CompiledSchema {
  /** @returns at most 10 errors; none if the arguments are valid */
  readonly check: (args: unknown) => readonly ArgumentError[];
}

type Dialect = typeof Ajv | typeof Ajv2019 | typeof Ajv2020;

// `$schema`, without its scheme and an empty fragment.
const DIALECTS: ReadonlyMap<string, Dialect> = new Map<string, Dialect>([
  ['json-schema.org/draft/2020-12/schema', Ajv2020],
  ['json-schema.org/draft/2019-09/schema', Ajv2019],
  ['json-schema.org/draft-07/schema', Ajv],
  // What draft-06 has means the same in draft-07.
  ['json-schema.org/draft-06/schema', Ajv],
]);

const OPTIONS: Options = {
  allErrors: true,
  // Unknown keywords and formats are ignored, as in the specification.
  strict: false,
  logger: false,
  // Properties that every object inherits are not arguments.
  ownProperties: true,
  // With inlining, a few references could make a text of any length.
  inlineRefs: false,
  multipleOfPrecision: PRECISION_DIGITS,
  code: { regExp: Object.assign(patternOf, { code: 'patternOf' }) },
};

/** The validators for schemas themselves: one for each dialect. */
const metaSchemas = new Map<Dialect, InstanceType<Dialect>>();

/**
 * Compiles a schema.
 * @param text JSON text, at most MAX_SCHEMA_BYTES long
 * @returns the check, or why the schema can't be used
 */
export function compileSchema(text: Buffer): CompiledSchema | { readonly unusable: string } {
  try {
    const schema = parseSpan(text, 0, text.length);
    if (!isObject(schema)) return { unusable: 'it is not an object' };
    const beyond = beyondBounds(schema);
    if (beyond !== undefined) return { unusable: beyond };
    const { $schema, ...rules } = schema;
    const dialect = dialectOf($schema);
    if (dialect === undefined) return { unusable: `its $schema is ${short(jsonText($schema))}` };
    return compileIn(dialect, rules);
  } catch (error) {
    if (error instanceof RangeError) return { unusable: 'it refers to itself without an end' };
    return { unusable: short(messageOf(error)) };
  }
}

function compileIn(
  dialect: Dialect,
  rules: Record<string, unknown>,
): CompiledSchema | { readonly unusable: string } {
  const meta = metaSchemas.get(dialect) ?? new dialect(OPTIONS);
  metaSchemas.set(dialect, meta);
  if (meta.validateSchema(rules) !== true) {
    const [error] = meta.errors ?? [];
    return { unusable: `it is no valid schema: ${error && describe(error)}` };
  }
  const validator = new dialect({ ...OPTIONS, validateSchema: false, meta: false });
  formats.default(validator);
  const validate = validator.compile(rules);
  // A cycle of references that does not go into the arguments recurses without end, for any arguments. This
  // finds it.
  validate({});
  return { check: (args) => errorsOf(validate, args) };
}

// 2020-12 is the default: 2025-11-25 basic, JSON Schema usage.
function dialectOf($schema: unknown): Dialect | undefined {
  if ($schema === undefined) return Ajv2020;
  if (typeof $schema !== 'string') return undefined;
  return DIALECTS.get($schema.replace(/^https?:\/\//, '').replace(/#$/, ''));
}

// Patterns should be Unicode ones, but many servers write what only the older grammar allows: `[\w-.]`.
function patternOf(pattern: string, flags: string): RegExp {
  try {
    return new RegExp(pattern, flags);
  } catch {
    return new RegExp(pattern);
  }
}

function errorsOf(validate: ValidateFunction, args: unknown): readonly ArgumentError[] {
  validate(args);
  return (validate.errors ?? []).slice(0, MAX_ERRORS).map((error) => ({
    path: short(error.instancePath),
    rule: error.keyword,
    message: short(describe(error)),
  }));
}

/** What would be right. Contains values of the schema, but none of the arguments. */
function describe({ keyword, message = 'does not fit', params }: ErrorObject): string {
  switch (keyword) {
    case 'additionalProperties':
      return `must not have the property ${jsonText(params['additionalProperty'])}`;
    case 'unevaluatedProperties':
      return `must not have the property ${jsonText(params['unevaluatedProperty'])}`;
    case 'enum':
      return `must be one of ${listOf(params['allowedValues'])}`;
    case 'const':
      return `must be ${jsonText(params['allowedValue'])}`;
    default:
      return message;
  }
}

function listOf(values: unknown): string {
  if (!Array.isArray(values)) return 'the allowed values';
  const more = values.length > SHOWN_VALUES ? ', ...' : '';
  return `${values.slice(0, SHOWN_VALUES).map(jsonText).join(', ')}${more}`;
}

function short(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}...`;
}
