/** What a listen stream carries: what was asked for, from the acknowledgement on. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { GatewayError } from '../../../src/base/errors.ts';
import { HeldBytes } from '../../../src/base/held-bytes.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import type { SubscribeAnswered } from '../../../src/ports/lease.ts';
import type { Request } from '../../../src/ports/request.ts';
import { type ListenTarget, ModernListen } from '../../../src/translate/modern-listen.ts';
import { OpenListens } from '../../../src/translate/open-listens.ts';

const UPDATED = 'notifications/resources/updated';
const frameOf = (members: object) =>
  scan(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...members })));
const update = (uri: string): [Buffer, string] => [
  frameOf({ method: UPDATED, params: { uri } }).bytes,
  `${UPDATED} ${uri}`,
];

it('carries updates of what was asked for, each once before it is acknowledged, and no other', async () => {
  const agreed = Promise.withResolvers<undefined>();
  const lease = {
    capabilities: {},
    join: async () => undefined,
    subscribeAll: async (uris: string[], answered: SubscribeAnswered) => {
      await agreed.promise;
      for (const uri of uris) answered(uri, undefined);
    },
  };
  const sent: string[] = [];
  const client = { principal: { key: 'p' }, version: '2026-07-28', capabilities: { roots: {} } };
  const notifications = { resourceSubscriptions: ['a:b'] };
  const request = {
    frame: frameOf({ id: 1, method: 'subscriptions/listen', params: { notifications } }),
    client,
    push: vi.fn((message: Buffer) => sent.push(JSON.parse(String(message)).params.uri)),
  } as unknown as Request;
  const listen = new ModernListen(request, '/', new OpenListens());
  expect(listen.capabilities).toBe(client.capabilities);
  const started = listen.start(() => lease as unknown as ListenTarget);
  for (const uri of ['a:b', 'a:b', 'a:other']) listen.notify(...update(uri));
  agreed.resolve(undefined);
  await started;
  listen.notify(...update('a:b/part'));
  listen.notify(...update('a:bc'));
  expect(sent).toEqual([undefined, 'a:b', 'a:b/part']);
});

/** A stream that wants to watch so many resources. */
function stream(listens: OpenListens, count: number, subscribeAll: ListenTarget['subscribeAll']) {
  const resourceSubscriptions = Array.from({ length: count }, (_, at) => `a:${at}`);
  const params = { notifications: { resourceSubscriptions } };
  const request = {
    frame: frameOf({ id: 1, method: 'subscriptions/listen', params }),
    client: { principal: { key: 'p', kind: 'key' }, version: '2026-07-28', capabilities: {} },
    push: vi.fn(),
    settle: vi.fn(),
  };
  const listen = new ModernListen(request as unknown as Request, '/', listens);
  const place = { capabilities: {}, join: async () => undefined, subscribeAll, leave: vi.fn() };
  const started = listen.start(() => place);
  return { listen, request, acquire: place, started };
}

it('waits once for all of its resources, not for each of them', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { request, started } = stream(new OpenListens(), 1_000, (uris, answered) => {
    for (const uri of uris.slice(0, 600)) answered(uri, undefined);
    return new Promise(() => undefined);
  });
  await vi.advanceTimersByTimeAsync(0);
  expect(vi.getTimerCount()).toBe(1);
  await vi.advanceTimersByTimeAsync(5_000);
  await started;
  const [acknowledgement] = request.push.mock.calls[0] as [Buffer];
  const { notifications } = JSON.parse(String(acknowledgement)).params;
  expect(notifications.resourceSubscriptions).toHaveLength(600);
});

it('is refused before any work when its principal watches ten thousand things already', async () => {
  const held = new HeldBytes({ limitBytes: 1e9, shareBytes: 1e9 });
  const listens = new OpenListens(held);
  const agree = vi.fn(async () => undefined);
  const streams = Array.from({ length: 10 }, () => stream(listens, 1_000, agree));
  await Promise.all(streams.map(({ started }) => started));
  expect(held.byKind.subscription).toBeGreaterThan(0);
  const one = stream(listens, 1, agree);
  await expect(one.started).rejects.toThrow(/10000 resources and tasks already/);
  await expect(one.started).rejects.toThrow(GatewayError);
  expect(agree).toHaveBeenCalledTimes(10);
  one.listen.cancel();
  streams[0]?.listen.cancel();
  await stream(listens, 1_000, agree).started;
  for (const { listen } of streams) listen.cancel();
});

it('is refused where there is no room for anything that it asks for', async () => {
  const overloaded = { code: -32_603, message: 'full', data: { reason: 'overloaded' } };
  const {
    request,
    acquire: place,
    started,
  } = stream(new OpenListens(), 3, async (uris, answered) => {
    for (const uri of uris) answered(uri, overloaded);
  });
  await started;
  expect(request.settle).toHaveBeenCalledWith(overloaded);
  expect(place.leave).toHaveBeenCalled();
  expect(request.push).not.toHaveBeenCalled();
});
