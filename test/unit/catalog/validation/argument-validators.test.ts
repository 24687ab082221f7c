// Validation through the process. The limits of tests with good schemas are far away, since a machine
// may be slow; those with schemas that never end are near.
import { afterEach, describe, expect, it } from 'vitest';
import { trustKeys } from '../../../../src/catalog/catalog-options.ts';
import {
  ArgumentValidators,
  type CheckFor,
  type CheckResult,
  type Validator,
} from '../../../../src/catalog/validation/argument-validators.ts';

const AMPLE_MS = 60_000;
const LIMIT_MS = 300;

const ONE: CheckFor = { caller: 'one', server: 'files' };
const OTHER: CheckFor = { caller: 'other', server: 'files' };

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
  check(args: unknown, whom?: CheckFor): Promise<CheckResult>;
}

function toolOf(validators: ArgumentValidators, schema: unknown): Tool {
  const told: string[] = [];
  const text = Buffer.from(JSON.stringify(schema));
  const validator = validators.validator(text, (reason) => told.push(reason));
  return {
    validator,
    told,
    check: (args, whom = ONE) => validator.check(Buffer.from(JSON.stringify(args)), whom),
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
    expect(await tool.validator.check(undefined, ONE)).toEqual({
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

  it('go on checking with a schema whose checks did not end', async () => {
    const [, schema, args] = EVIL[0] ?? [];
    const tool = toolOf(create(LIMIT_MS), schema);
    const checks = await Promise.all([1, 2, 3, 4].map(() => tool.check(args)));
    expect(checks.map(({ kind }) => kind)).toEqual(['invalid', 'invalid', 'invalid', 'invalid']);
    expect(await tool.check({ a: 'b' }, OTHER)).toMatchObject({
      kind: 'invalid',
      errors: [{ path: '/a', rule: 'pattern' }],
    });
    expect(await tool.check({ a: 'a' }, OTHER)).toEqual({ kind: 'valid' });
    expect(tool.told).toEqual([]);
  });

  it('check for others while the slow checks of one client go on', async () => {
    const [, schema, args] = EVIL[0] ?? [];
    const validators = create(LIMIT_MS);
    const slow = toolOf(validators, schema);
    const quick = toolOf(validators, PATH);
    let finished = 0;
    const all = Array.from({ length: 8 }, () => slow.check(args).then(() => finished++));
    // By the third, the client is known for its slow checks, and the other process runs.
    await Promise.all(all.slice(0, 2));
    for (let i = 0; i < 50; i++) {
      expect(await quick.check({ path: '/a' }, OTHER)).toEqual({ kind: 'valid' });
    }
    expect(finished).toBeLessThan(8);
    await Promise.all(all);
  });

  it('let only so many checks of one client wait', async () => {
    const validators = create();
    const tool = toolOf(validators, PATH);
    const checks = Array.from({ length: 300 }, () => tool.check({ path: '/a' }));
    expect(await tool.check({ path: '/a' })).toEqual({ kind: 'busy' });
    expect(await tool.check({ path: '/a' }, OTHER)).toEqual({ kind: 'valid' });
    expect((await Promise.all(checks)).filter(({ kind }) => kind === 'busy').length).toBe(200);
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
    expect(trustKeys.validateArguments.parse(undefined)).toBe('off');
    expect(trustKeys.validateArguments.safeParse('on').error?.issues[0]?.message).toBe(
      'must be one of off, warn, enforce',
    );
  });
});

function nested(levels: number): unknown {
  return levels === 0 ? {} : { x: nested(levels - 1) };
}
