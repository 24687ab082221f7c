/**
 * Resource subscriptions on a shared server: counted per URI, one subscribe and one unsubscribe upstream,
 * and updates only for those who subscribed.
 */
import { describe, expect, it } from 'vitest';
import type { ChannelClient } from '../support/channel-client.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useGateway, useScripted } from '../support/use-gateway.ts';
import { hasMethod } from '../support/wire-message.ts';

const UPDATED = 'notifications/resources/updated';

const updatesOf = (client: ChannelClient): unknown[] =>
  client.messages.all.filter(hasMethod(UPDATED)).map(({ params }) => params?.['uri']);

describe('on a shared server', () => {
  const { harness, journal } = useScripted();
  let uris = 0;
  const freshUri = (): string => `test://item-${++uris}`;
  /** The subscribes and unsubscribes that the server got for a URI, in order. */
  const upstream = (uri: string): string[] =>
    journal
      .messages()
      .filter(({ params }) => params?.['uri'] === uri)
      .map(({ method = '' }) => method.replace('resources/', ''));

  it('GW-095 the server sees one subscribe, and one unsubscribe after the last', async () => {
    const uri = freshUri();
    const { ws, sse } = await harness.channels();
    const session = await harness.session();
    for (const client of [ws, sse, session]) {
      expect((await client.request('resources/subscribe', { uri })).result).toEqual({});
    }
    expect(upstream(uri)).toEqual(['subscribe']);
    await ws.request('resources/unsubscribe', { uri });
    await session.request('resources/unsubscribe', { uri });
    expect(upstream(uri)).toEqual(['subscribe']);
    expect((await sse.request('resources/unsubscribe', { uri })).result).toEqual({});
    expect(upstream(uri)).toEqual(['subscribe', 'unsubscribe']);
  });

  it('GW-095 an update goes to those who are subscribed, once each', async () => {
    const uri = freshUri();
    const { ws, sse } = await harness.channels();
    const never = await harness.webSocket();
    for (const client of [ws, sse, sse]) await client.request('resources/subscribe', { uri });
    await never.call('touch', { uri });
    for (const client of [ws, sse]) await until(() => updatesOf(client).length > 0);
    await ws.request('resources/unsubscribe', { uri });
    await never.call('touch', { uri });
    await until(() => updatesOf(sse).length > 1);
    await ws.request('ping');
    expect(updatesOf(ws)).toEqual([uri]);
    expect(updatesOf(sse)).toEqual([uri, uri]);
    expect(updatesOf(never)).toEqual([]);
  });

  it('GW-095 subscribing twice is once: one unsubscribe ends it', async () => {
    const uri = freshUri();
    const ws = await harness.webSocket();
    for (let i = 0; i < 2; i++) await ws.request('resources/subscribe', { uri });
    await ws.request('resources/unsubscribe', { uri });
    expect((await ws.request('resources/unsubscribe', { uri })).result).toEqual({});
    expect(upstream(uri)).toEqual(['subscribe', 'unsubscribe']);
  });

  it('GW-095 the end of a session ends its subscriptions, whatever the transport', async () => {
    const uri = freshUri();
    const { ws, sse } = await harness.channels();
    const session = await harness.session();
    for (const client of [ws, sse, session]) await client.request('resources/subscribe', { uri });
    await ws.close();
    await sse.close();
    expect(upstream(uri)).toEqual(['subscribe']);
    await session.delete();
    await until(() => upstream(uri).includes('unsubscribe'));
    expect(upstream(uri)).toEqual(['subscribe', 'unsubscribe']);
  });

  it('a part of what was subscribed to counts, a longer name does not', async () => {
    const uri = freshUri();
    const ws = await harness.webSocket();
    const other = await harness.webSocket();
    await ws.request('resources/subscribe', { uri });
    for (const touched of [`${uri}/part`, `${uri}x`, `${uri}?a`, 'test://', uri]) {
      await other.call('touch', { uri: touched });
    }
    await until(() => updatesOf(ws).includes(uri));
    expect(updatesOf(ws)).toEqual([`${uri}/part`, `${uri}?a`, uri]);
  });

  it('a URI that is no string is -32602, and nothing is forwarded', async () => {
    const session = await harness.session();
    const before = journal.messages('resources/subscribe').length;
    for (const params of [{}, { uri: 7 }, { uri: null }]) {
      for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
        expect((await session.request(method, params)).error?.code).toBe(-32602);
      }
    }
    expect(journal.messages('resources/subscribe')).toHaveLength(before);
  });

  it('many clients that come and go at once leave the server with what is right', async () => {
    const uri = freshUri();
    const clients = await Promise.all(Array.from({ length: 8 }, () => harness.webSocket()));
    const stays = await harness.webSocket();
    await Promise.all(
      [...clients, stays].map((client) => client.request('resources/subscribe', { uri })),
    );
    await Promise.all(
      clients.map(async (client, i) => {
        if (i % 2 === 0) await client.close();
        else await client.request('resources/unsubscribe', { uri });
      }),
    );
    await stays.request('ping');
    expect(upstream(uri).at(-1)).toBe('subscribe');
    await stays.call('touch', { uri });
    await until(() => updatesOf(stays).length > 0);
    await stays.request('resources/unsubscribe', { uri });
    expect(upstream(uri).filter((method) => method === 'unsubscribe')).toHaveLength(1);
  });
});

describe('on a server without subscriptions', () => {
  const server = scriptedServer({ args: ['--caps', '{"tools":{},"resources":{}}'] });
  const harness = useGateway(() => ({ servers: { one: server.config } }));

  it('subscribe is -32601, and nothing is forwarded', async () => {
    const session = await harness.session();
    const answer = await session.request('resources/subscribe', { uri: 'test://one' });
    expect(answer.error?.code).toBe(-32601);
    expect(server.journal.messages('resources/subscribe')).toEqual([]);
  });
});
