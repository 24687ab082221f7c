/** Subscriptions of a client that leaves while the server starts, and of one that wants too many. */
import { expect, it, vi } from 'vitest';
import { FanOut, type Listener } from '../../../src/backend/fan-out.ts';
import type { Instance } from '../../../src/backend/instance.ts';
import { InstanceSeat } from '../../../src/backend/instance-seat.ts';
import { Subscriptions } from '../../../src/backend/subscriptions.ts';
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

it('one client watches 256 KiB of URIs, one person twice that, and all together 2 MiB', () => {
  const all = new Subscriptions();
  const add = (who: string, at: number, uri: string) => all.add(listener(who, at), uri);
  const clients = new Map<string, Listener>();
  const listener = (who: string, at: number): Listener => {
    const client = { principal: { key: who } } as Downstream;
    const known = clients.get(`${who}${at}`) ?? { client, severity: undefined, onUp: undefined };
    clients.set(`${who}${at}`, known);
    return known;
  };
  const uri = (name: string): string => name.padEnd(64 * 1_024, 'x');
  const fill = (who: string, at: number): void => {
    for (let n = 0; n < 4; n++) expect(add(who, at, uri(`${who}:${at}:${n}`))).toBeUndefined();
  };
  fill('a', 0);
  expect(add('a', 0, 'a:more')?.message).toMatch('you watch at one server may have 256 KiB');
  fill('a', 1);
  expect(add('a', 2, 'a:more')?.message).toMatch('all your clients watch');
  // What somebody watches already costs nothing more, and nobody is kept out by one person.
  expect(add('a', 2, uri('a:0:0'))).toBeUndefined();
  for (const who of ['b', 'c', 'd']) for (const at of [0, 1]) fill(who, at);
  expect(add('e', 0, 'e:more')?.message).toMatch('all clients watch');
  const gone = all.leave(listener('b', 1));
  expect(gone).toHaveLength(4);
  expect(add('e', 0, 'e:more')).toBeUndefined();
  expect(all.size).toBe(4 * 8 - 4 + 1);
});

it('a client that left counts for a while as somebody whom the server may talk of', async () => {
  const { fanOut, seat } = setUp();
  await seat.join(undefined);
  expect(fanOut.recent.isOther('b', monotonicMs(), false)).toBe(false);
  seat.leave();
  expect(fanOut.recent.isOther('b', monotonicMs(), false)).toBe(true);
});
