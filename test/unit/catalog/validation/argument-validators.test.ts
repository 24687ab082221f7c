// Validation through the process. The limits of tests with good schemas are far away, since a machine
// may be slow; those with schemas that never end are near.
import { afterEach, describe, expect, it } from 'vitest';
import {
  ArgumentValidators,
  type CheckResult,
  type Validator,
} from '../../../../src/catalog/validation/argument-validators.ts';
import { validateArgumentsSchema } from '../../../../src/catalog/validation/options.ts';

const AMPLE_MS = 60_000;
const LIMIT_MS = 300;

const open: ArgumentValidators[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((validators) => validators.close()));
});

function create(limitMs = AMPLE_MS): ArgumentValidators {
  const validators = new ArgumentValidators(limitMs);
  open.push(validators);
  return validators;
}

interface Tool {
  readonly validator: Validator;
  readonly told: string[];
  check(args: unknown): Promise<CheckResult>;
}

function toolOf(validators: ArgumentValidators, schema: unknown): Tool {
  const told: string[] = [];
  const text = Buffer.from(JSON.stringify(schema));
  const validator = validators.validator(text, (reason) => told.push(reason));
  return {
    validator,
    told,
    check: (args) => validator.check(Buffer.from(JSON.stringify(args))),
  };
}

const PATH = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };

describe('validators', () => {
  it('say which arguments fit', async () => {
    const tool = toolOf(create(), PATH);
    expect(await tool.check({ path: '/a' })).toEqual({ kind: 'valid' });
    expect(await tool.check({ path: 1 })).toEqual({
      kind: 'invalid',
      errors: [{ path: '/path', rule: 'type', message: 'must be string' }],
    });
    expect(await tool.validator.check(undefined)).toEqual({
      kind: 'invalid',
      errors: [{ path: '', rule: 'required', message: "must have required property 'path'" }],
    });
    expect(tool.told).toEqual([]);
  });

  it('give each of many checks at once its own answer', async () => {
    const validators = create();
    const tools = Array.from({ length: 20 }, (_, i) =>
      toolOf(validators, { properties: { n: { maximum: i } } }),
    );
    const checks = tools.flatMap((tool) => [5, 15].map((n) => tool.check({ n })));
    const kinds = (await Promise.all(checks)).map(({ kind }) => kind);
    expect(kinds).toEqual(
      tools.flatMap((_, i) => [5, 15].map((n) => (n <= i ? 'valid' : 'invalid'))),
    );
  });

  it('tell once of a schema that can not be used, and refuse no call for it', async () => {
    const tool = toolOf(create(), { type: 'text' });
    for (let i = 0; i < 3; i++) expect(await tool.check({})).toEqual({ kind: 'unusable' });
    expect(tool.told).toEqual([expect.stringContaining('no valid schema')]);
  });

  it('do not even read a schema that is too long', async () => {
    const tool = toolOf(create(), { description: 'x'.repeat(300_000) });
    expect(await tool.check({})).toEqual({ kind: 'unusable' });
    expect(tool.told).toEqual(['it is longer than 262144 bytes']);
  });

  const EVIL: readonly [string, unknown, unknown][] = [
    [
      'a pattern that backtracks',
      { properties: { a: { pattern: '^(a+)+$' } } },
      { a: `${'a'.repeat(40)}!` },
    ],
    [
      'a recursion that doubles',
      {
        $ref: '#/$defs/a',
        $defs: {
          a: { properties: { x: { allOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }] } } },
        },
      },
      nested(60),
    ],
    [
      'unique items',
      { properties: { a: { uniqueItems: true } } },
      { a: Array.from({ length: 60_000 }, (_, i) => ({ i })) },
    ],
  ];

  it.each(EVIL)('end a check that does not end: %s', async (_, schema, args) => {
    const validators = create(LIMIT_MS);
    const stuck = toolOf(validators, schema).check(args);
    const behind = toolOf(validators, PATH).check({});
    expect(await stuck).toMatchObject({ kind: 'invalid', errors: [{ path: '', rule: 'limit' }] });
    expect((await behind).kind).not.toBe('busy');
  });

  it('give up a schema whose checks do not end', async () => {
    const [, schema, args] = EVIL[0] ?? [];
    const validators = create(LIMIT_MS);
    const evil = toolOf(validators, schema);
    const checks = await Promise.all([evil.check(args), evil.check(args), evil.check(args)]);
    expect(checks.map(({ kind }) => kind)).toEqual(['invalid', 'invalid', 'unusable']);
    expect(await evil.check({})).toEqual({ kind: 'unusable' });
    expect(evil.told).toEqual([expect.stringContaining('more time than')]);
    // The same schema under another name is known by then.
    const twin = toolOf(validators, schema);
    expect(await twin.check(args)).toEqual({ kind: 'unusable' });
    expect(twin.told).toHaveLength(1);
  });

  it('survive a check that takes all memory', async () => {
    const validators = create();
    const hungry = toolOf(validators, {
      properties: { a: { items: { allOf: Array(2_000).fill(false) } } },
    });
    const result = await hungry.check({ a: Array(100_000).fill(0) });
    expect(result).toMatchObject({ kind: 'invalid', errors: [{ rule: 'limit' }] });
    expect(await toolOf(validators, PATH).check({ path: '/a' })).toEqual({ kind: 'valid' });
  });

  it('are busy when they are closed', async () => {
    const validators = create();
    const tool = toolOf(validators, PATH);
    const last = tool.check({ path: '/a' });
    await validators.close();
    expect(await last).toEqual({ kind: 'busy' });
    expect(await tool.check({ path: '/a' })).toEqual({ kind: 'busy' });
  });

  it('are off by default', () => {
    expect(validateArgumentsSchema.parse(undefined)).toBe('off');
    expect(validateArgumentsSchema.safeParse('on').error?.issues[0]?.message).toBe(
      'must be one of off, warn, enforce',
    );
  });
});

function nested(levels: number): unknown {
  return levels === 0 ? {} : { x: nested(levels - 1) };
}
