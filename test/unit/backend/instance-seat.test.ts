/** Subscriptions of a client that leaves while the server starts, and of one that wants too many. */
import { expect, it, vi } from 'vitest';
import { FanOut } from '../../../src/backend/fan-out.ts';
import type { Instance } from '../../../src/backend/instance.ts';
import { InstanceSeat } from '../../../src/backend/instance-seat.ts';
import type { Metrics } from '../../../src/observe/metrics.ts';
import type { Downstream } from '../../../src/ports/downstream.ts';

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
  const seat = new InstanceSeat({} as Downstream, instance, {
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
  expect(fanOut.uris).toEqual([]);
});

it('one client watches a thousand resources and no more', async () => {
  const { fanOut, started, seat } = setUp();
  started.resolve();
  for (let at = 0; at < 1_000; at++) await seat.subscribe(`a:${at}`);
  expect(await seat.subscribe('a:one-more')).toMatchObject({ data: { reason: 'overloaded' } });
  expect(fanOut.uris).toHaveLength(1_000);
});
