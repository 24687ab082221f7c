// The text of a tool's schema -> a function that checks arguments. Runs in the validation process only: compiling
// takes milliseconds, and what comes out may take forever (docs/adr/0006). A schema is compiled in an
// instance of its own, so that no server's `$id` is seen by another's schema and nothing is kept.
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
/** 19.99 is a multiple of 0.01, whatever binary fractions say. */
const PRECISION_DIGITS = 9;

/** A schema that can be used. */
export interface CompiledSchema {
  /** @returns at most 10 reasons why the arguments don't fit; none when they do */
  readonly check: (args: unknown) => readonly ArgumentError[];
}

type Dialect = typeof Ajv | typeof Ajv2019 | typeof Ajv2020;

// `$schema` without its scheme and an empty fragment.
const DIALECTS: ReadonlyMap<string, Dialect> = new Map<string, Dialect>([
  ['json-schema.org/draft/2020-12/schema', Ajv2020],
  ['json-schema.org/draft/2019-09/schema', Ajv2019],
  ['json-schema.org/draft-07/schema', Ajv],
  // What draft-06 has, draft-07 has with the same meaning.
  ['json-schema.org/draft-06/schema', Ajv],
]);

const OPTIONS: Options = {
  allErrors: true,
  // Unknown keywords and formats say nothing, as the specification has it.
  strict: false,
  logger: false,
  // A property that every object inherits is not one of the arguments.
  ownProperties: true,
  // Inlined, a few references make a text of any length.
  inlineRefs: false,
  multipleOfPrecision: PRECISION_DIGITS,
  code: { regExp: Object.assign(patternOf, { code: 'patternOf' }) },
};

/** Which checks of schemas themselves exist already: one for each dialect. */
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
  // A reference that goes round without a step into the arguments never ends, whatever they are.
  validate({});
  return { check: (args) => errorsOf(validate, args) };
}

// 2020-12 is the default: 2025-11-25 basic, JSON Schema usage.
function dialectOf($schema: unknown): Dialect | undefined {
  if ($schema === undefined) return Ajv2020;
  if (typeof $schema !== 'string') return undefined;
  return DIALECTS.get($schema.replace(/^https?:\/\//, '').replace(/#$/, ''));
}

// Patterns are to be Unicode ones, but many servers write what only the older grammar takes: `[\w-.]`.
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

/** What would be right. Values of the schema are shown, those of the arguments are not. */
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
