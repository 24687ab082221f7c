import { expect, it } from 'vitest';
import { Drain, drained } from '../../../src/base/drain.ts';

it('is on for good once it has begun', () => {
  const drain = new Drain();
  expect(drain.isOn).toBe(false);
  drain.begin();
  drain.begin();
  expect(drain.isOn).toBe(true);
});

it('is on for a part when the whole drains, and not the other way round', () => {
  const whole = new Drain();
  const one = new Drain(whole);
  const other = new Drain(whole);
  one.begin();
  expect([whole.isOn, one.isOn, other.isOn]).toEqual([false, true, false]);
  whole.begin();
  expect(other.isOn).toBe(true);
});

it('waits until nothing is left', async () => {
  let left = 2;
  await drained(() => left-- > 0, 60_000);
  expect(left).toBe(-1);
});

it('waits no longer than it may', async () => {
  await expect(drained(() => true, 30)).resolves.toBeUndefined();
});
