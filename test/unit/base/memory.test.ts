// What memory there is, where the system tells it, and where it does not.
import { expect, it } from 'vitest';
import { availableMemory, MemoryGauge, residentLimitIn } from '../../../src/base/memory.ts';

it('keeps what it was told last when the system can not be asked, as without descriptors', () => {
  let isBroken = false;
  const ask = (bytes: number) => (): number => {
    if (isBroken) throw new Error('EMFILE: too many open files');
    return bytes;
  };
  const gauge = new MemoryGauge({ residentBytes: ask(100), containerBytes: ask(1_000) });
  expect(gauge.read()).toMatchObject({ residentBytes: 100, containerLimitBytes: 1_000 });
  isBroken = true;
  expect(gauge.read()).toMatchObject({ residentBytes: 100, containerLimitBytes: 1_000 });
});

it('knows nothing, and fails not, where the system never tells', () => {
  const broken = (): number => {
    throw new Error('EMFILE: too many open files');
  };
  const use = new MemoryGauge({ residentBytes: broken, containerBytes: broken }).read();
  expect(use.residentBytes).toBe(0);
  expect(use.containerLimitBytes).toBe(Number.POSITIVE_INFINITY);
  expect(use.heapBytes).toBeGreaterThan(0);
});

it.each([0, 2 ** 63])('takes a limit of %d for a container without one', (bytes) => {
  const gauge = new MemoryGauge({ residentBytes: () => 1, containerBytes: () => bytes });
  expect(gauge.read().containerLimitBytes).toBe(Number.POSITIVE_INFINITY);
});

it('reads the limit of resident memory', () => {
  const text = (soft: string): string =>
    `Limit                     Soft Limit           Hard Limit           Units\n` +
    `Max core file size        0                    unlimited            bytes\n` +
    `Max resident set          ${soft.padEnd(20)} unlimited            bytes\n`;
  expect(residentLimitIn(text('536870912'))).toBe(536_870_912);
  expect(residentLimitIn(text('unlimited'))).toBe(Number.POSITIVE_INFINITY);
  expect(residentLimitIn('')).toBe(Number.POSITIVE_INFINITY);
});

it('finds some memory on every machine', () => {
  expect(availableMemory()).toBeGreaterThan(16 * 1024 ** 2);
  expect(availableMemory()).toBeLessThan(Number.POSITIVE_INFINITY);
});
