/**
 * JSON-RPC batches: part of 2025-03-26 (and read the same way in 2024-11-05), refused from 2025-06-18 on.
 */
import { describe, expect, it } from 'vitest';
import { post } from '../support/http-client.ts';
import { initializeRequest } from '../support/legacy-session.ts';
import { useScripted } from '../support/use-gateway.ts';
import { type Json, textOf } from '../support/wire-message.ts';

const { harness, journal } = useScripted();

const call = (id: unknown, name: string, args: Json = {}): Json => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
});
const ping = (id: unknown): Json => ({ jsonrpc: '2.0', id, method: 'ping' });
const unknownNotification = { jsonrpc: '2.0', method: 'notifications/unknown' };

describe.each(['2024-11-05', '2025-03-26'])('in a %s session', (version) => {
  it('GW-011 two requests and a notification get two answers', async () => {
    const session = await harness.session({ version });
    const exchange = session.post([call('a', 'echo', { x: 1 }), unknownNotification, ping(2)]);
    const response = await exchange.response();
    expect(response.status).toBe(200);
    const byId = new Map(exchange.messages.all.map((message) => [message.id, message]));
    expect([...byId.keys()].toSorted()).toEqual([2, 'a']);
    expect(byId.get(2)?.result).toEqual({});
    const echoed = byId.get('a');
    expect(echoed && textOf(echoed)).toBe('{"x":1}');
    expect(exchange.messages.all).toHaveLength(2);
  });

  it('GW-011 two pings are answered (trial 68)', async () => {
    const session = await harness.session({ version });
    const exchange = session.post([ping(61), ping(62)]);
    await exchange.response();
    const ids = exchange.messages.all.map((message) => message.id);
    expect(ids.toSorted()).toEqual([61, 62]);
  });

  it('GW-011 the answer to a batch of one request is an array when it is JSON', async () => {
    const session = await harness.session({ version });
    const response = await session.post([ping(1)], { accept: 'application/json' }).response();
    expect(response.json()).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }]);
  });

  it('GW-011 calls of one batch run at the same time and keep their bytes', async () => {
    const session = await harness.session({ version });
    const exchange = session.post([
      call(1, 'hold', { key: version, v: 'held' }),
      call(2, 'release', { key: version }),
      call(3, 'bigint'),
    ]);
    const response = await exchange.response();
    expect(exchange.messages.all).toHaveLength(3);
    expect(response.text).toContain('{"n":9007199254740993,"f":1.0,"z":-0,"e":1E2}');
  });

  it('GW-011 only notifications or responses get 202 and no body', async () => {
    const session = await harness.session({ version });
    for (const batch of [
      [unknownNotification, unknownNotification],
      [{ jsonrpc: '2.0', id: 'none', result: {} }],
    ]) {
      const response = await session.post(batch).response();
      expect(response.status).toBe(202);
      expect(response.body).toHaveLength(0);
    }
  });

  it('GW-011 every invalid element gets one -32600 with id null, the others are served', async () => {
    const session = await harness.session({ version });
    const exchange = session.post([3, ping(4), { foo: 1 }]);
    await exchange.response();
    const messages = exchange.messages.all;
    expect(messages.filter(({ id, error }) => id === null && error?.code === -32600)).toHaveLength(
      2,
    );
    expect(messages.find(({ id }) => id === 4)?.result).toEqual({});
  });

  it('GW-013 `initialize` inside a batch is an error element, the others are served', async () => {
    const session = await harness.session({ version });
    const exchange = session.post([initializeRequest({ version }, 5), ping(6)]);
    const response = await exchange.response();
    expect(response.headers['mcp-session-id'] ?? session.sessionId).toBe(session.sessionId);
    const byId = new Map(exchange.messages.all.map((message) => [message.id, message]));
    expect(byId.get(5)?.error?.code).toBe(-32600);
    expect(byId.get(6)?.result).toEqual({});
  });

  it('GW-014 an empty batch gets 400 and -32600', async () => {
    const session = await harness.session({ version });
    const response = await session.post('[]').response();
    expect(response.status).toBe(400);
    expect(response.json()).toMatchObject({ id: null, error: { code: -32600 } });
  });

  it('GW-011 a batch on a channel is answered', async () => {
    const ws = await harness.webSocket({ version });
    ws.send([ping(61), call(62, 'echo', { a: 1 })]);
    expect((await ws.messages.next(({ id }) => id === 61)).result).toEqual({});
    expect(textOf(await ws.messages.next(({ id }) => id === 62))).toBe('{"a":1}');
  });
});

describe.each(['2025-06-18', '2025-11-25'])('in a %s session', (version) => {
  it.each(['[]', JSON.stringify([ping(61), ping(62)])])(
    'GW-012 the batch %s gets 400 and one -32600, and nothing of it runs',
    async (body) => {
      const session = await harness.session({ version });
      const response = await session.post(body).response();
      expect(response.status).toBe(400);
      expect(response.json()).toMatchObject({ id: null, error: { code: -32600 } });
    },
  );

  it('GW-012 nothing of a refused batch reaches the server', async () => {
    const session = await harness.session({ version });
    const batch = [call(1, 'echo', { never: version }), unknownNotification];
    expect((await session.post(batch).response()).status).toBe(400);
    await session.call('pid');
    expect(journal.lines().some(({ raw }) => raw.includes(`"never":"${version}"`))).toBe(false);
  });

  it('GW-012 a batch on a channel gets one -32600 with id null', async () => {
    const ws = await harness.webSocket({ version });
    const before = ws.messages.all.length;
    ws.send([ping(61), ping(62)]);
    const refusal = await ws.messages.next(({ id }) => id === null);
    expect(refusal.error?.code).toBe(-32600);
    await ws.request('ping', undefined, 'fence');
    expect(ws.messages.all).toHaveLength(before + 2);
  });
});

describe('without a session', () => {
  it('GW-013 `initialize` in a batch creates none and yields an error', async () => {
    const exchange = post(harness.url(), [initializeRequest({ version: '2025-03-26' }, 1)]);
    const response = await exchange.response();
    expect(response.headers['mcp-session-id']).toBeUndefined();
    expect(exchange.messages.all.map(({ error }) => error?.code)).toEqual([-32600]);
  });
});
