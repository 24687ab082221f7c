// What several servers want to be known, in the room that there is for all of them.
import { expect, test } from 'vitest';
import { mergedInstructions } from '../../../src/catalog/endpoint-info.ts';

const ROOM = 32 * 1024;
const part = (key: string, instructions?: string) => ({ key, capabilities: {}, instructions });

test('instructions stand under the names of their servers', () => {
  const parts = [part('a', 'Be kind.'), part('b'), part('c', ''), part('d', 'Be quick.')];
  expect(mergedInstructions(parts)).toBe('## a\nBe kind.\n\n## d\nBe quick.');
  expect(mergedInstructions([part('b')])).toBeUndefined();
});

test('instructions say what the tools that they name are called', () => {
  const text = mergedInstructions([{ ...part('a', 'Use t.'), namePrefix: 'a__' }]);
  expect(text).toBe('## a\nHere NAME of a tool or prompt is called a__NAME.\nUse t.');
});

test('one that says much leaves room for the others', () => {
  const long = 'x'.repeat(ROOM);
  const text = mergedInstructions([part('a', long), part('b', 'Be quick.'), part('c', long)]) ?? '';
  expect(text).toContain('\n\n## b\nBe quick.\n\n## c\nx');
  expect(text.length).toBeLessThanOrEqual(ROOM);
  expect(text.length).toBeGreaterThan(ROOM - 10);
  const [a, , c] = text.split('\n\n').map(({ length }) => length);
  expect(a).toBe(c);
});
