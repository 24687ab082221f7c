// How many private processes there may be.
import { expect, it } from 'vitest';
import { ProcessBudget } from '../../../src/backend/process-budget.ts';

it('caps hold for each principal and for all of them, and places are given back', () => {
  const budget = new ProcessBudget({ max: 3, maxPerPrincipal: 2, maxStarting: 1 });
  for (const key of ['a', 'a', 'b']) budget.acquire(key, 's');
  expect(() => budget.acquire('b', 's')).toThrow('3 in all');
  budget.release('b');
  expect(() => budget.acquire('a', 's')).toThrow('2 for one user');
  budget.acquire('c', 's');
  expect(() => budget.acquire('b', 's')).toThrow('3 in all');
  expect(budget.total).toBe(3);
});
