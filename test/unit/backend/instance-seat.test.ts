/** Subscriptions of a client that leaves while the server starts, and of one that wants too many. */
import { expect, it, vi } from 'vitest';
import { FanOut } from '../../../src/backend/fan-out.ts';
import type { Instance } from '../../../src/backend/instance.ts';
import { InstanceSeat } from '../../../src/backend/instance-seat.ts';
import { monotonicMs } from '../../../src/base/clock.ts';
import type { Metrics } from '../../../src/observe/metrics.ts';
import type { Downstream } from '../../../src/ports/downstream.ts';

const CLIENT = { principal: { key: 'a' } } as Downstream;

function setUp() {
  const fanOut = new FanOut({
    server: 's',
    isShared: true,
    isPlain: false,
    metrics: {} as Metrics,
    logsOnDemand: () => false,
    soleCaller: () => undefined,
    callers: () => [],
  });
  const started = Promise.withResolvers<void>();
  const wishes = {
    replay: vi.fn(async () => undefined),
    setLevel: vi.fn(async () => undefined),
    subscribe: vi.fn(async () => undefined),
    unsubscribe: vi.fn(async () => undefined),
  };
  const instance = { fanOut, wishes, running: () => started.promise } as unknown as Instance;
  const seat = new InstanceSeat(CLIENT, instance, {
    server: 's',
    isShared: true,
    nameOf: () => '0',
    alternative: (_exchange, own) => own,
    left: () => undefined,
  });
  return { fanOut, started, wishes, seat };
}

it('a client that left while the server started leaves no subscription', async () => {
  const { fanOut, started, wishes, seat } = setUp();
  await seat.join(undefined);
  const subscribed = seat.subscribe('a:b');
  seat.leave();
  started.resolve();
  expect(await subscribed).toBeDefined();
  expect(await seat.subscribe('a:c')).toBeDefined();
  expect(wishes.subscribe).not.toHaveBeenCalled();
  expect(fanOut.resources.all).toEqual([]);
});

it('one client watches a thousand resources and no more', async () => {
  const { fanOut, started, seat } = setUp();
  started.resolve();
  for (let at = 0; at < 1_000; at++) await seat.subscribe(`a:${at}`);
  expect(await seat.subscribe('a:one-more')).toMatchObject({ data: { reason: 'overloaded' } });
  expect(fanOut.resources.all).toHaveLength(1_000);
});

it('a client that left counts for a while as somebody whom the server may talk of', async () => {
  const { fanOut, seat } = setUp();
  await seat.join(undefined);
  expect(fanOut.recent.isOther('b', monotonicMs(), false)).toBe(false);
  seat.leave();
  expect(fanOut.recent.isOther('b', monotonicMs(), false)).toBe(true);
});
