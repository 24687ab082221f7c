/**
 * Cancelling: the server is told under the id that it knows, the caller hears nothing more, and nobody
 * can cancel what is not theirs.
 */
import { describe, expect, it } from 'vitest';
import type { ChannelClient } from '../support/channel-client.ts';
import { fetchMetrics, metricSum } from '../support/metrics.ts';
import { ModernClient } from '../support/modern-client.ts';
import type { JournalMessage } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useScripted } from '../support/use-gateway.ts';
import { answers, type MessageId, textOf } from '../support/wire-message.ts';

const { harness, journal } = useScripted();
const CANCELLED = 'notifications/cancelled';
let keys = 0;

const upstreamOf = (key: string): Promise<JournalMessage> =>
  journal.waitFor(({ raw, method }) => method === 'tools/call' && raw.includes(`"${key}"`));

const cancelOf = (id: unknown): Promise<JournalMessage> =>
  journal.waitFor(({ method, params }) => method === CANCELLED && params?.['requestId'] === id);

/** Has the server hold a call of `client` under `id`. @returns key and upstream id. */
async function hold(
  client: ChannelClient,
  id: MessageId,
  args = {},
): Promise<{ key: string; upstream: unknown }> {
  const key = `key-${++keys}`;
  const params = { name: 'hold', arguments: { key, ...args } };
  client.send({ jsonrpc: '2.0', id, method: 'tools/call', params });
  await journal.waitForEvent(`held:${key}`);
  return { key, upstream: (await upstreamOf(key)).id };
}

describe.each(['ws', 'sse'] as const)('over %s a cancel', (transport) => {
  it.each([[0], [1], ['a'], ['0']])(
    'of id %j reaches the server under its own id, and no answer follows (trials 28, 40)',
    async (id) => {
      const client = (await harness.channels())[transport];
      // `ignoreCancel`: the server answers all the same when it is released.
      const { key, upstream } = await hold(client, id, { ignoreCancel: true });
      client.notify(CANCELLED, { requestId: id, reason: 'changed my mind' });
      const cancel = await cancelOf(upstream);
      expect(cancel.params).toEqual({ requestId: upstream, reason: 'changed my mind' });
      expect(textOf(await client.call('release', { key }, 'r'))).toBe('released');
      await client.request('ping', undefined, 'fence');
      expect(client.messages.all.filter(({ id: seen }) => seen === id).length).toBe(
        id === 0 ? 1 : 0,
      );
    },
  );

  it('lets the id be used again', async () => {
    const client = (await harness.channels())[transport];
    const { upstream } = await hold(client, 'again');
    client.notify(CANCELLED, { requestId: 'again' });
    await cancelOf(upstream);
    expect(textOf(await client.call('echo', { a: 1 }, 'again'))).toBe('{"a":1}');
  });

  it('of an unknown, finished or foreign id, or of another type, changes nothing', async () => {
    const client = (await harness.channels())[transport];
    const other = await harness.webSocket();
    const mine = await hold(other, 5);
    await client.call('echo', {}, 6);
    const before = journal.messages(CANCELLED).length;
    for (const requestId of [5, '5', 6, 999, mine.upstream, null, { a: 1 }]) {
      client.notify(CANCELLED, { requestId });
    }
    other.notify(CANCELLED, { requestId: '5' });
    await client.request('ping');
    await other.call('release', { key: mine.key });
    expect(textOf(await other.messages.next(answers(5)))).toBe('held');
    expect(journal.messages(CANCELLED)).toHaveLength(before);
  });
});

describe.each(['legacy', 'modern'] as const)('a request of a %s client', (era) => {
  it('that is called as a notification reaches no server: it names calls of others', async () => {
    const { upstream } = await hold(await harness.webSocket(), `shared-${era}`);
    const client =
      era === 'legacy' ? await harness.session() : harness.track(new ModernClient(harness.url()));
    const before = journal.messages(CANCELLED).length;
    for (const path of [CANCELLED, 'notifications/progress', 'notifications/vendor/thing']) {
      const { error } = await client.request(path, {
        requestId: upstream,
        progressToken: upstream,
      });
      expect(error?.code).toBe(-32601);
    }
    expect(journal.messages(CANCELLED)).toHaveLength(before);
  });
});

describe('a cancel over HTTP', () => {
  it('of id 0 reaches the server, and the POST is released without an answer (trial 28)', async () => {
    const session = await harness.session();
    const pending = session.beginCall('hold', { key: 'zero' }, { id: 0 });
    const upstream = (await upstreamOf('zero')).id;
    await journal.waitForEvent('held:zero');
    expect((await session.cancel(0)).status).toBe(202);
    await cancelOf(upstream);
    await pending.exchange.response();
    expect(pending.exchange.messages.all).toEqual([]);
  });

  it('of another session does not touch a call with an equal id', async () => {
    const a = await harness.session();
    const b = await harness.session();
    const pending = a.beginCall('hold', { key: 'equal' }, { id: 1 });
    await journal.waitForEvent('held:equal');
    const before = journal.messages(CANCELLED).length;
    expect((await b.cancel(1)).status).toBe(202);
    await b.call('release', { key: 'equal' }, { id: 2 });
    expect(textOf(await pending.answer)).toBe('held');
    expect(journal.messages(CANCELLED)).toHaveLength(before);
  });

  it('counts as cancelled and frees the slot at once, whatever the server does', async () => {
    const session = await harness.session();
    session.beginCall('hang', { key: 'slot' }, { id: 3 });
    await upstreamOf('slot');
    await session.cancel(3);
    await until(async () => {
      const samples = await fetchMetrics(harness.gateway.adminUrl);
      return (
        metricSum(samples, 'sluice_requests_total', { outcome: 'cancelled' }) > 0 &&
        metricSum(samples, 'sluice_requests_in_flight') === 0
      );
    });
  });
});

describe('the end of a session', () => {
  it('by DELETE cancels its calls, under the ids of the server', async () => {
    const session = await harness.session();
    const pending = session.beginCall('hold', { key: 'deleted' });
    await journal.waitForEvent('held:deleted');
    const upstream = (await upstreamOf('deleted')).id;
    expect((await session.delete()).status).toBe(200);
    await cancelOf(upstream);
    await pending.exchange.response();
    expect(pending.exchange.messages.all).toEqual([]);
  });

  it('does not follow from a dropped POST: others and the server go on (trial 7)', async () => {
    const a = await harness.session();
    const b = await harness.session();
    const dropped = a.beginCall('slow', { ms: 150, v: 'a' });
    await journal.waitFor(({ raw }) => raw.includes('"v":"a"'));
    dropped.exchange.destroy();
    expect(textOf(await b.call('slow', { ms: 200, v: 'b' }))).toBe('b');
    expect(textOf(await a.call('echo', {}))).toBe('{}');
    expect(journal.starts).toHaveLength(1);
  });
});
