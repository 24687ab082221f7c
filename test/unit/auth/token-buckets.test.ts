// How often somebody may do something.
import { expect, it } from 'vitest';
import { TokenBuckets } from '../../../src/auth/token-buckets.ts';

it('G10 lets a burst through, then the rate, for each name alone', () => {
  const buckets = new TokenBuckets(10, 3);
  expect([1, 2, 3].map(() => buckets.take('a', 0))).toEqual([0, 0, 0]);
  expect(buckets.take('a', 0)).toBe(100);
  expect(buckets.waitMs('a', 50)).toBe(50);
  expect(buckets.take('b', 0)).toBe(0);
  expect(buckets.take('a', 100)).toBe(0);
  expect(buckets.take('a', 100)).toBeGreaterThan(0);
  const later = [1, 2, 3, 4].map(() => buckets.take('a', 60_000) === 0);
  expect(later).toEqual([true, true, true, false]);
});

it('forgets who was not seen for longest, and is bounded', () => {
  const buckets = new TokenBuckets(1, 1);
  buckets.take('first', 0);
  for (let at = 0; at < 10_000; at++) buckets.take(`n${at}`, 0);
  expect(buckets.waitMs('n9999', 0)).toBeGreaterThan(0);
  expect(buckets.waitMs('first', 0)).toBe(0);
});
