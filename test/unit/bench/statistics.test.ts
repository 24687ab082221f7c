// The benchmark's statistics. Its timings are never tested.
import { describe, expect, test } from 'vitest';
import { median, medianRatio, percentile } from '../../bench/statistics.ts';

describe('percentile', () => {
  test('takes the nearest rank, whatever the order', () => {
    const samples = Array.from({ length: 100 }, (_, i) => 100 - i);
    expect(percentile(samples, 0.5)).toBe(50);
    expect(percentile(samples, 0.99)).toBe(99);
    expect(percentile(samples, 1)).toBe(100);
    expect(percentile(samples, 0)).toBe(1);
    expect(samples[0]).toBe(100);
  });

  test('of one sample is that sample, of none is NaN', () => {
    expect(percentile([7], 0.99)).toBe(7);
    expect(percentile([], 0.5)).toBeNaN();
  });
});

describe('median', () => {
  test('is the middle value or the mean of the two middle ones', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([10, 2, 4, 1])).toBe(3);
    expect(median([])).toBeNaN();
  });

  test('sorts numbers as numbers', () => {
    expect(median([10, 9, 100])).toBe(10);
  });
});

describe('medianRatio', () => {
  test('compares round by round', () => {
    // The second round ran on a machine twice as slow; the ratio does not move.
    expect(medianRatio([20, 40, 20], [10, 20, 10])).toBe(2);
  });

  test('leaves out rounds that only one side has', () => {
    expect(medianRatio([20, 30], [10])).toBe(2);
    expect(medianRatio([20, Number.NaN], [10, 10])).toBe(2);
    expect(medianRatio([1], [0])).toBeNaN();
  });
});
