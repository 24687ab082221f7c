// When new requests are turned away for want of memory.
import { expect, it } from 'vitest';
import { isNearlyFull } from '../../../src/listener/memory-pressure.ts';

const MIB = 1024 * 1024;

it.each([
  [0.5, 0.5, 1000, false],
  [0.95, 0.5, 1000, true],
  [0.5, 0.95, 1000, true],
  [0.5, 0.95, Number.POSITIVE_INFINITY, false],
])('F25 heap %d, container %d of %d MiB: %s', (heap, resident, container, expected) => {
  const use = {
    heapBytes: heap * 1000 * MIB,
    heapLimitBytes: 1000 * MIB,
    residentBytes: resident * 1000 * MIB,
    containerLimitBytes: container * MIB,
  };
  expect(isNearlyFull(use)).toBe(expected);
});
