// When a server that ended is started again.
import { expect, it } from 'vitest';
import { RestartPolicy } from '../../../src/upstream/restarts.ts';

/** A server that is ready for `servesMs` each time. @returns how long each of its restarts waits */
function waits(times: number, servesMs: number): { waitsMs: number[]; policy: RestartPolicy } {
  const policy = new RestartPolicy();
  const waitsMs: number[] = [];
  let nowMs = 1_000;
  for (let time = 0; time < times; time++) {
    policy.ready(nowMs);
    nowMs += servesMs;
    const waitMs = policy.failed(nowMs);
    waitsMs.push(waitMs);
    nowMs += waitMs;
  }
  return { waitsMs, policy };
}

it('at once, however often, when it has served for a while each time', () => {
  const { waitsMs, policy } = waits(20, 16_000);
  expect(waitsMs).toEqual(new Array(20).fill(0));
  expect(policy.isOpen).toBe(false);
});

it('later and later when it ends soon, and callers are refused at once in the end', () => {
  const { waitsMs, policy } = waits(5, 1_000);
  expect(waitsMs[0]).toBeGreaterThan(100);
  expect(waitsMs.at(-1)).toBeGreaterThan(2_000);
  expect(policy.isOpen).toBe(true);
});

it('as for the first time, after it has served for a while', () => {
  const policy = new RestartPolicy();
  for (let time = 0; time < 4; time++) policy.failed(time);
  policy.ready(10);
  expect(policy.failed(20_000)).toBe(0);
  expect(policy.failed(20_001)).toBeLessThan(300);
  expect(policy.isOpen).toBe(false);
});
