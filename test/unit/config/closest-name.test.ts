import { expect, it } from 'vitest';
import { closestName } from '../../../src/config/closest-name.ts';

it.each([
  ['comand', 'command'],
  ['Command', 'command'],
  ['cmmoand', 'command'],
  ['prot', 'port'],
  ['cdw', 'cwd'],
  ['zzz', undefined],
  ['', undefined],
  ['x'.repeat(10_000), undefined],
])('the nearest word to %j is %j', (word, expected) => {
  expect(closestName(word, ['command', 'port', 'cwd', 'timeouts'])).toBe(expected);
});
