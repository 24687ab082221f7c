/** Subscriptions of a client that leaves while the server starts, and of one that wants too many. */
import { expect, it, vi } from 'vitest';
import { monotonicMs } from '../../../src/base/clock.ts';
import { HeldBytes } from '../../../src/base/held-bytes.ts';
import { nextTurn } from '../../../src/base/turns.ts';
import type { WireError } from '../../../src/jsonrpc/error.ts';
import type { Downstream } from '../../../src/ports/downstream.ts';
import type { SubscribeAnswered } from '../../../src/ports/lease.ts';
import { FanOut } from '../../../src/upstream/fan-out.ts';
import type { Instance } from '../../../src/upstream/instance.ts';
import { InstanceLease, type InstancePool } from '../../../src/upstream/instance-lease.ts';
import type { Lifecycle } from '../../../src/upstream/lifecycle.ts';
import type { ServerContext } from '../../../src/upstream/server-context.ts';
import { type Subscriber, Subscriptions } from '../../../src/upstream/subscriptions.ts';

const CLIENT = { principal: { key: 'a' } } as Downstream;

function setUp() {
  const server = { options: { name: 's', protocol: 'mcp' }, isShared: true } as ServerContext;
  const fanOut = new FanOut(server, { mux: undefined } as Lifecycle);
  const started = Promise.withResolvers<void>();
  const upstreamSubscriptions = {
    replay: vi.fn(async () => undefined),
    setLevel: vi.fn(async () => undefined),
    subscribe: vi.fn(async (_uri: string): Promise<WireError | undefined> => undefined),
    subscribeAll: vi.fn(async (uris: readonly string[], answered: SubscribeAnswered) => {
      for (const uri of uris) answered(uri, undefined);
    }),
    unsubscribe: vi.fn(async () => undefined),
    unsubscribeAll: vi.fn(),
  };
  const instance = {
    server,
    fanOut,
    upstreamSubscriptions,
    running: () => started.promise,
  } as unknown as Instance;
  const pool = { release: () => undefined } as unknown as InstancePool;
  const leaseOf = (client: Downstream) => new InstanceLease(client, instance, pool);
  return { fanOut, started, upstreamSubscriptions, lease: leaseOf(CLIENT), leaseOf };
}

it('a client that left while the server started leaves no subscription', async () => {
  const { fanOut, started, upstreamSubscriptions, lease } = setUp();
  await lease.join(undefined);
  const subscribed = lease.subscribe('a:b');
  lease.leave();
  started.resolve();
  expect(await subscribed).toBeDefined();
  expect(await lease.subscribe('a:c')).toBeDefined();
  expect(upstreamSubscriptions.subscribe).not.toHaveBeenCalled();
  expect(fanOut.resources.all).toEqual([]);
});

it('one client watches a thousand resources and no more', async () => {
  const { fanOut, started, lease } = setUp();
  started.resolve();
  for (let at = 0; at < 1_000; at++) await lease.subscribe(`a:${at}`);
  expect(await lease.subscribe('a:one-more')).toMatchObject({ data: { reason: 'overloaded' } });
  expect(fanOut.resources.all).toHaveLength(1_000);
});

it('one client watches 256 KiB of URIs, one person twice that, and all together 2 MiB', () => {
  const all = new Subscriptions();
  const add = (who: string, at: number, uri: string) => all.add(subscriber(who, at), uri);
  const clients = new Map<string, Subscriber>();
  const subscriber = (who: string, at: number): Subscriber => {
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
  const gone = all.leave(subscriber('b', 1));
  expect(gone).toHaveLength(4);
  expect(add('e', 0, 'e:more')).toBeUndefined();
  expect(all.size).toBe(4 * 8 - 4 + 1);
});

it('a client that left counts for a while as somebody whom the server may talk of', async () => {
  const { fanOut, lease } = setUp();
  await lease.join(undefined);
  expect(fanOut.recent.isOther('b', monotonicMs(), false)).toBe(false);
  lease.leave();
  expect(fanOut.recent.isOther('b', monotonicMs(), false)).toBe(true);
});

it('many resources of one client are taken in several turns, and told to the server together', async () => {
  const { fanOut, started, upstreamSubscriptions, lease } = setUp();
  started.resolve();
  const uris = Array.from({ length: 1_000 }, (_, at) => `a:${at}`);
  const agreed: string[] = [];
  let isOver = false;
  const all = lease.subscribeAll(uris, (uri, error) => {
    if (error === undefined) agreed.push(uri);
  });
  void all.then(() => {
    isOver = true;
  });
  let before = 0;
  while (!isOver) {
    expect(fanOut.resources.size - before).toBeLessThanOrEqual(256);
    before = fanOut.resources.size;
    await nextTurn();
  }
  expect(agreed).toHaveLength(1_000);
  expect(upstreamSubscriptions.subscribeAll).toHaveBeenCalledOnce();
  expect(upstreamSubscriptions.subscribe).not.toHaveBeenCalled();
});

it('all clients of one person watch ten thousand resources and no more', () => {
  const all = new Subscriptions();
  const subscribers = Array.from({ length: 11 }, () => ({ client: CLIENT }) as Subscriber);
  for (const [nth, subscriber] of subscribers.slice(0, 10).entries()) {
    for (let at = 0; at < 1_000; at++) expect(all.add(subscriber, `${nth}:${at}`)).toBeUndefined();
  }
  const [one] = subscribers;
  const last = subscribers.at(-1) as Subscriber;
  expect(all.add(last, '0:0')).toMatchObject({ data: { reason: 'overloaded' } });
  all.remove(one as Subscriber, '0:0');
  expect(all.add(last, '0:0')).toBeUndefined();
});

it('what is watched counts as held for who watches it, until it is not', () => {
  const held = new HeldBytes({ limitBytes: 2_000, shareBytes: 1_000 });
  const all = new Subscriptions((principal) => held.client(principal));
  const subscribers = ['a', 'b'].map(
    (key) => ({ client: { principal: { key, kind: 'key' } } }) as unknown as Subscriber,
  );
  const [a, b] = subscribers as [Subscriber, Subscriber];
  const uri = 'a:'.padEnd(200, 'x');
  expect(all.add(a, uri)).toBeUndefined();
  expect(all.add(b, uri)).toBeUndefined();
  expect(held.byKind.subscription).toBeGreaterThanOrEqual(400);
  expect(all.add(a, `${uri}2`)).toBeUndefined();
  expect(all.add(a, `${uri}3`)).toMatchObject({ data: { reason: 'overloaded' } });
  all.leave(a);
  all.remove(b, uri);
  expect(held.byKind.subscription).toBe(0);
  all.add(a, uri);
  all.clear();
  expect(held.total).toBe(0);
});

const REFUSED: WireError = { code: -32002, message: 'No such resource.' };

it.each([
  ['refuses', REFUSED],
  ['agrees', undefined],
])('clients that want one resource all learn that the server %s', async (_, answer) => {
  const { fanOut, started, upstreamSubscriptions, lease, leaseOf } = setUp();
  started.resolve();
  const answered = Promise.withResolvers<WireError | undefined>();
  upstreamSubscriptions.subscribe.mockReturnValueOnce(answered.promise);
  const told: unknown[] = [];
  const first = lease.subscribe('a:b').then((error) => told.push(error));
  const second = leaseOf(CLIENT)
    .subscribe('a:b')
    .then((error) => told.push(error));
  const third = leaseOf(CLIENT).subscribeAll(['a:b'], (_uri, error) => told.push(error));
  await nextTurn();
  expect(told).toEqual([]);
  answered.resolve(answer);
  await Promise.all([first, second, third]);
  expect(told).toEqual([answer, answer, answer]);
  expect(fanOut.resources.watchersOf('a:b').size).toBe(answer === undefined ? 3 : 0);
  expect(await leaseOf(CLIENT).subscribe('a:b')).toBeUndefined();
  // Asked again only where it had refused.
  expect(upstreamSubscriptions.subscribe).toHaveBeenCalledTimes(answer === undefined ? 1 : 2);
});

it('a client waits for the answer to another one that wants many resources', async () => {
  const { fanOut, started, upstreamSubscriptions, lease, leaseOf } = setUp();
  started.resolve();
  const answered = Promise.withResolvers<void>();
  upstreamSubscriptions.subscribeAll.mockImplementationOnce(async (uris, tell) => {
    await answered.promise;
    for (const uri of uris) tell(uri, REFUSED);
  });
  const told: unknown[] = [];
  const first = lease.subscribeAll(['a:b', 'a:c'], (_uri, error) => told.push(error));
  const second = leaseOf(CLIENT).subscribe('a:b');
  await nextTurn();
  answered.resolve();
  await first;
  expect(told).toEqual([REFUSED, REFUSED]);
  expect(await second).toEqual(REFUSED);
  expect(fanOut.resources.all).toEqual([]);
});

it('a late refusal does not end a subscription that was asked for again', async () => {
  const { fanOut, started, upstreamSubscriptions, lease } = setUp();
  started.resolve();
  const answered = Promise.withResolvers<WireError | undefined>();
  upstreamSubscriptions.subscribe.mockReturnValueOnce(answered.promise);
  const first = lease.subscribe('a:b');
  await nextTurn();
  expect(upstreamSubscriptions.subscribe).toHaveBeenCalledOnce();
  await lease.unsubscribe('a:b');
  expect(await lease.subscribe('a:b')).toBeUndefined();
  answered.resolve(REFUSED);
  expect(await first).toEqual(REFUSED);
  expect(fanOut.resources.watchersOf('a:b').size).toBe(1);
});
