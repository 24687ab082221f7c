// What becomes of one schema, without the worker around it.
import { describe, expect, it } from 'vitest';
import { compileSchema } from '../../../../src/catalog/validation/compile-schema.ts';
import type { ArgumentError } from '../../../../src/catalog/validation/jobs.ts';

const DRAFT_7 = 'http://json-schema.org/draft-07/schema#';

function errors(schema: unknown, args: unknown): readonly ArgumentError[] {
  const compiled = compileSchema(Buffer.from(JSON.stringify(schema)));
  if ('unusable' in compiled) throw new Error(compiled.unusable);
  return compiled.check(args);
}

function refusal(schema: unknown): string {
  const compiled = compileSchema(Buffer.from(JSON.stringify(schema)));
  return 'unusable' in compiled ? compiled.unusable : 'usable';
}

describe('a schema', () => {
  it('is JSON Schema 2020-12 where it does not say', () => {
    const schema = { properties: { pair: { prefixItems: [{ type: 'string' }], items: false } } };
    expect(errors(schema, { pair: ['a'] })).toEqual([]);
    expect(errors(schema, { pair: ['a', 1] })).toMatchObject([{ path: '/pair', rule: 'items' }]);
    expect(errors({ ...schema, unevaluatedProperties: false }, { x: 1 })).toEqual([
      { path: '', rule: 'unevaluatedProperties', message: 'must not have the property "x"' },
    ]);
  });

  it('may be of draft-07, which means other things by the same words', () => {
    const schema = { $schema: DRAFT_7, properties: { pair: { items: [{ type: 'string' }] } } };
    expect(errors(schema, { pair: [1] })).toMatchObject([{ path: '/pair/0', rule: 'type' }]);
    expect(errors({ ...schema, $schema: 'https://json-schema.org/draft-07/schema' }, {})).toEqual(
      [],
    );
  });

  it('may refer to parts of itself, by either name', () => {
    const node = { type: 'object', properties: { next: { $ref: '#/$defs/node' } } };
    const list = { $ref: '#/$defs/node', $defs: { node } };
    expect(errors(list, { next: { next: {} } })).toEqual([]);
    expect(errors(list, { next: { next: 1 } })).toMatchObject([{ path: '/next/next' }]);
    const old = {
      definitions: { a: { type: 'string' } },
      properties: { a: { $ref: '#/definitions/a' } },
    };
    expect(errors(old, { a: 1 })).toMatchObject([{ path: '/a', rule: 'type' }]);
  });

  it('has formats, and patterns of the older grammar too', () => {
    const schema = {
      properties: {
        at: { format: 'date-time' },
        x: { pattern: '^[\\w-.]+$' },
        y: { format: 'own' },
      },
    };
    expect(errors(schema, { at: '2026-01-01T00:00:00Z', x: 'a-b.c', y: 'z' })).toEqual([]);
    expect(
      errors(schema, { at: 'now', x: '#' }).map(({ path, rule }) => `${path} ${rule}`),
    ).toEqual(['/at format', '/x pattern']);
  });

  it('is not fulfilled by what every object inherits', () => {
    expect(errors({ required: ['toString'] }, {})).toHaveLength(1);
    expect(errors({ required: ['__proto__'] }, {})).toHaveLength(1);
  });

  it('measures decimal fractions as people do', () => {
    expect(errors({ properties: { n: { multipleOf: 0.01 } } }, { n: 19.99 })).toEqual([]);
  });

  it.each<[string, unknown]>([
    ['it is not an object', true],
    ['it is not an object', [1]],
    [
      'its $schema is "http://json-schema.org/draft-04/schema#"',
      { $schema: 'http://json-schema.org/draft-04/schema#' },
    ],
    ['it is no valid schema', { type: 'text' }],
    ['it is no valid schema', { properties: { a: { minLength: 'x' } } }],
    ["can't resolve reference https://example.com/a.json", { $ref: 'https://example.com/a.json' }],
    ["can't resolve reference", { $ref: 'file:///etc/passwd' }],
    ['it refers to itself without an end', { $ref: '#' }],
    ['$async', { properties: { a: { $async: true } } }],
    ['regular expression', { properties: { a: { pattern: '(' } } }],
    ['it has more than', { enum: Array.from({ length: 30_000 }, (_, i) => i) }],
  ])('is not used: %s', (reason, schema) => {
    expect(refusal(schema)).toContain(reason);
  });

  it('is not used when it is nested too deeply', () => {
    let deep: unknown = {};
    for (let i = 0; i < 100; i++) deep = { not: deep };
    expect(refusal(deep)).toContain('levels deep');
  });

  it('does not see what another one named', () => {
    const name = 'https://example.com/mine';
    expect(refusal({ $id: name, $defs: { a: { $id: `${name}/a` } } })).toBe('usable');
    expect(refusal({ $ref: name })).toContain("can't resolve reference");
    expect(refusal({ $ref: `${name}/a` })).toContain("can't resolve reference");
    expect(refusal({ $id: name, type: 'object' })).toBe('usable');
  });

  it('gives at most ten errors, with what would be right and without the values', () => {
    const schema = { additionalProperties: { enum: ['a', 'b'] } };
    const args = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`k${i}`, 'secret']));
    const found = errors(schema, args);
    expect(found).toHaveLength(10);
    expect(found[0]).toEqual({ path: '/k0', rule: 'enum', message: 'must be one of "a", "b"' });
  });

  it('gives errors of bounded length', () => {
    const long = 'x'.repeat(10_000);
    const [error] = errors({ additionalProperties: { const: long } }, { [long]: 1 });
    expect(error?.path.length).toBeLessThan(300);
    expect(error?.message.length).toBeLessThan(300);
  });
});
