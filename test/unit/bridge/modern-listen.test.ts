/** What a listen stream carries: what was asked for, from the acknowledgement on. */
import { expect, it, vi } from 'vitest';
import { type ListenPlace, ModernListen } from '../../../src/bridge/modern-listen.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import type { ModernExchange } from '../../../src/ports/modern.ts';

const UPDATED = 'notifications/resources/updated';
const frameOf = (members: object) =>
  scan(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...members })));
const update = (uri: string): [Buffer, string] => [
  frameOf({ method: UPDATED, params: { uri } }).bytes,
  `${UPDATED} ${uri}`,
];

it('carries updates of what was asked for, each once before it is acknowledged, and no other', async () => {
  const agreed = Promise.withResolvers<undefined>();
  const seat = {
    capabilities: {},
    join: async () => undefined,
    subscribe: () => agreed.promise,
  };
  const sent: string[] = [];
  const client = { principal: { key: 'p' }, version: '2026-07-28', capabilities: { roots: {} } };
  const notifications = { resourceSubscriptions: ['a:b'] };
  const exchange = {
    frame: frameOf({ id: 1, method: 'subscriptions/listen', params: { notifications } }),
    client,
    push: vi.fn((message: Buffer) => sent.push(JSON.parse(String(message)).params.uri)),
  } as unknown as ModernExchange;
  const listen = new ModernListen(exchange, () => undefined);
  expect(listen.capabilities).toBe(client.capabilities);
  const started = listen.start(() => seat as unknown as ListenPlace);
  for (const uri of ['a:b', 'a:b', 'a:other']) listen.notify(...update(uri));
  agreed.resolve(undefined);
  await started;
  listen.notify(...update('a:b/part'));
  listen.notify(...update('a:bc'));
  expect(sent).toEqual([undefined, 'a:b', 'a:b/part']);
});
