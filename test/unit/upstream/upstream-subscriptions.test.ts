/** How often a modern server is told what its clients want to watch. */
import { expect, it, vi } from 'vitest';
import type { JsonObject } from '../../../src/jsonrpc/parse.ts';
import type { ServerIdentity } from '../../../src/ports/lease.ts';
import { upstreamSubscriptionsOf } from '../../../src/upstream/upstream-subscriptions.ts';

const MODERN = { era: 'modern', capabilities: {} } as unknown as ServerIdentity;

function setUp() {
  const uris: string[] = [];
  const asked: { readonly uris: unknown; agree(): void }[] = [];
  const upstreamSubscriptions = upstreamSubscriptionsOf(MODERN, {
    wanted: () => ({ uris: [...uris], taskIds: [] }),
    isWanted: (uri) => uris.includes(uri),
    request: () => Promise.resolve(undefined),
    listen: ({ notifications }) => {
      const agreed = Promise.withResolvers<JsonObject>();
      const wanted = notifications as JsonObject;
      asked.push({
        uris: wanted['resourceSubscriptions'],
        agree: () => agreed.resolve(wanted),
      });
      return agreed.promise;
    },
  });
  const subscribe = (uri: string) => {
    uris.push(uri);
    return upstreamSubscriptions.subscribe(uri);
  };
  return { asked, subscribe };
}

it('once for all that come together, and once more for all that come meanwhile', async () => {
  const { asked, subscribe } = setUp();
  const first = Array.from({ length: 200 }, (_, at) => subscribe(`a:${at}`));
  await vi.waitUntil(() => asked.length > 0);
  expect(asked[0]?.uris).toHaveLength(200);
  const second = Array.from({ length: 200 }, (_, at) => subscribe(`b:${at}`));
  // The server has not agreed yet.
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
  expect(asked).toHaveLength(1);
  asked[0]?.agree();
  expect(new Set(await Promise.all(first))).toEqual(new Set([undefined]));
  await vi.waitUntil(() => asked.length > 1);
  expect(asked[1]?.uris).toHaveLength(400);
  asked[1]?.agree();
  expect(new Set(await Promise.all(second))).toEqual(new Set([undefined]));
  expect(asked).toHaveLength(2);
});

it('again after a while where the server says nothing to it', async () => {
  vi.useFakeTimers();
  try {
    const { asked, subscribe } = setUp();
    void subscribe('a:1');
    await vi.advanceTimersByTimeAsync(10);
    void subscribe('a:2');
    await vi.advanceTimersByTimeAsync(1_900);
    expect(asked).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(200);
    expect(asked.map(({ uris }) => uris)).toEqual([['a:1'], ['a:1', 'a:2']]);
  } finally {
    vi.useRealTimers();
  }
});
