// Members of one name, taken out of a text wherever they stand.
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { withoutKey } from '../../../src/jsonrpc/strip-key.ts';
import { scannedBytes } from '../../support/scanned-bytes.ts';

vi.mock('../../../src/jsonrpc/json-text.ts', async (original) => {
  const { counting } = await import('../../support/scanned-bytes.ts');
  return counting(original);
});

const KEY = Buffer.from('x');
const strip = (text: string): string => withoutKey(Buffer.from(text), KEY).toString();

test.for([
  ['{}', '{}'],
  ['{"a":1}', '{"a":1}'],
  ['{"x":1}', '{}'],
  ['{ "x" : 1 }', '{ }'],
  ['{"x":1,"x":2}', '{}'],
  [
    '{"x":1, "a":1.0,"x":{"x":2} , "b":[{"x":[]},{"c":"x"}],"x":3}',
    '{"a":1.0 , "b":[{},{"c":"x"}]}',
  ],
  ['{"a":{"x":1,"b":{"x":1}},"x":1}', '{"a":{"b":{}}}'],
  ['{"\\u0078":1,"a":"x"}', '{"a":"x"}'],
  ['["x",{"x":"x"}]', '["x",{}]'],
  ['"x"', '"x"'],
])('%s becomes %s', ([text, stripped]) => {
  expect(strip(text as string)).toBe(stripped);
});

test('is what a reader would have with the members deleted', () => {
  const without = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(without);
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.entries(value).filter(([key]) => key !== 'x');
    return Object.fromEntries(members.map(([key, member]) => [key, without(member)]));
  };
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5 },
      fc.integer(),
      fc.constantFrom('x', '"x":1,', ''),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc
        .array(fc.tuple(fc.constantFrom('x', 'a', 'b', 'xx'), tie('tree')), { maxLength: 5 })
        .map((entries) => Object.fromEntries(entries)),
    ),
  }));
  fc.assert(
    fc.property(tree, fc.constantFrom(0, 1), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      expect(JSON.parse(strip(text))).toEqual(without(value));
    }),
    { numRuns: 500 },
  );
});

test('deep and large texts are walked over once', () => {
  const deep = `${'{"a":'.repeat(200)}{"x":1,"p":"${'y'.repeat(10_000)}"}${'}'.repeat(200)}`;
  expect(scannedBytes(() => strip(deep))).toBeLessThan(deep.length);
  const broad = `{${'"a":[],"x":1,'.repeat(10_000)}"b":1}`;
  expect(scannedBytes(() => strip(broad))).toBeLessThan(broad.length);
});
