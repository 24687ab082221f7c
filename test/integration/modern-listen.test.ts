// What a legacy server tells all of its clients, and its logs, as a modern client gets them: on a
// listen stream that says what it carries, and on the stream of the call
// (docs/protocol.md#log-messages, #listen-streams).
import { describe, expect, it } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { ModernClient } from '../support/modern-client.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useScripted } from '../support/use-gateway.ts';
import { hasMethod, type Json } from '../support/wire-message.ts';

const P = 'io.modelcontextprotocol/';
const { harness, journal } = useScripted();
const client = (): ModernClient => harness.track(new ModernClient(harness.url()));
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const TOOLS = 'notifications/tools/list_changed';
const PROMPTS = 'notifications/prompts/list_changed';
const UPDATED = 'notifications/resources/updated';

describe('listen', () => {
  it('GW-123, GW-037: acknowledges first, then says which request each message is for', async () => {
    const ids = ['l', 7];
    const filter = { toolsListChanged: true, resourceSubscriptions: ['test://one'], odd: true };
    const streams = await Promise.all(ids.map((id) => client().listen(filter, id)));
    await client().call('list_change');
    await client().call('touch', { uri: 'test://one' });
    for (const [index, stream] of streams.entries()) {
      await stream.messages.next(hasMethod(TOOLS));
      await stream.messages.next(hasMethod(UPDATED));
      const [first] = stream.messages.all;
      expect(first?.method).toBe(ACKNOWLEDGED);
      expect(first?.params?.['notifications']).toEqual({
        toolsListChanged: true,
        resourceSubscriptions: ['test://one'],
      });
      for (const { params } of stream.messages.all) {
        const meta = params?.['_meta'] as Json | undefined;
        expect(meta?.[`${P}subscriptionId`]).toBe(ids[index]);
      }
      const { status, headers } = await stream.head;
      expect(status).toBe(200);
      expect(headers['x-accel-buffering']).toBe('no');
      expect(stream.comments.length).toBeGreaterThan(0);
      expect(stream.events.all.filter(({ id }) => id !== undefined)).toEqual([]);
    }
  });

  it('GW-124: carries nothing that was not asked for', async () => {
    const tools = await client().listen({ toolsListChanged: true }, 't');
    const prompts = await client().listen({ promptsListChanged: true }, 'p');
    const both = await client().listen({ toolsListChanged: true, promptsListChanged: true }, 'b');
    const none = await client().listen({}, 'n');
    for (const kind of ['tools', 'prompts', 'resources'])
      await client().call('list_change', { kind });
    await client().call('touch', { uri: 'test://one' });
    await client().call('log', { level: 'error' });
    await both.messages.next(hasMethod(TOOLS));
    await both.messages.next(hasMethod(PROMPTS));
    await tools.messages.next(hasMethod(TOOLS));
    await prompts.messages.next(hasMethod(PROMPTS));
    const methods = (stream: typeof tools): unknown[] =>
      stream.messages.all.map(({ method }) => method);
    expect(methods(tools)).toEqual([ACKNOWLEDGED, TOOLS]);
    expect(methods(prompts)).toEqual([ACKNOWLEDGED, PROMPTS]);
    expect(methods(none)).toEqual([ACKNOWLEDGED]);
    expect(none.messages.all[0]?.params?.['notifications']).toEqual({});
  });

  it('GW-125: subscribes at the server, and unsubscribes with the last', async () => {
    const uri = 'test://GW-125';
    const count = (method: string): number =>
      journal.messages(method).filter(({ params }) => params?.['uri'] === uri).length;
    const streams = await Promise.all(
      [1, 2].map((id) => client().listen({ resourceSubscriptions: [uri] }, id)),
    );
    expect(count('resources/subscribe')).toBe(1);
    streams[0]?.destroy();
    const other = await client().listen({}, 'o');
    expect(count('resources/unsubscribe')).toBe(0);
    other.destroy();
    streams[1]?.destroy();
    await until(() => count('resources/unsubscribe') === 1, { what: 'an unsubscribe' });
  });

  it('refuses a filter that is none', async () => {
    for (const params of [
      {},
      { notifications: 7 },
      { notifications: { toolsListChanged: 'yes' } },
    ]) {
      const { status, message } = await client().whole('subscriptions/listen', params);
      expect({ status, code: message.error?.code }).toEqual({ status: 200, code: -32_602 });
    }
  });

  it('GW-127: ends with a result when the gateway stops', async () => {
    const gateway = await startGateway({ servers: { one: scriptedServer().config } });
    const by = new ModernClient(gateway.endpoint('one'));
    const stream = await by.listen({ toolsListChanged: true }, 'last');
    const stopped = gateway.stop();
    await stream.messages.ended;
    expect(stream.messages.all.at(-1)?.result).toEqual({
      resultType: 'complete',
      _meta: { [`${P}subscriptionId`]: 'last' },
    });
    expect(await stopped).toEqual({ code: 0, signal: null });
  });
});

describe('logs', () => {
  const log = async (level: string, wanted: string | undefined): Promise<unknown[]> => {
    const meta = wanted === undefined ? {} : { [`${P}logLevel`]: wanted };
    const pending = client().beginCall('log', { level }, { meta });
    await pending.exchange.response();
    const messages = pending.exchange.messages.all.filter(hasMethod('notifications/message'));
    return messages.map(({ params }) => params?.['level']);
  };

  it('GW-128: come only when asked for, from that level on, never on listen', async () => {
    const stream = await client().listen({ toolsListChanged: true });
    expect(await log('emergency', undefined)).toEqual([]);
    expect(await log('info', 'warning')).toEqual([]);
    expect(await log('warning', 'warning')).toEqual(['warning']);
    expect(await log('error', 'warning')).toEqual(['error']);
    expect(await log('debug', 'debug')).toEqual(['debug']);
    expect(stream.messages.all.map(({ method }) => method)).toEqual([ACKNOWLEDGED]);
    expect(journal.messages('logging/setLevel').length).toBeGreaterThan(0);
  });

  it('GW-130: an unknown level', async () => {
    for (const level of ['loud', 'WARNING', 7]) {
      const { status, message } = await client().whole(
        'tools/call',
        { name: 'count' },
        { meta: { [`${P}logLevel`]: level } },
      );
      expect({ status, code: message.error?.code }).toEqual({ status: 400, code: -32_602 });
    }
  });
});
