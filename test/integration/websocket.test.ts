/**
 * WebSocket: subprotocol, frames, close codes, and the end of a connection, which ends its calls.
 */
import { describe, expect, it } from 'vitest';
import { send } from '../support/http-client.ts';
import { LEGACY_VERSIONS } from '../support/legacy-session.ts';
import { useScripted } from '../support/use-gateway.ts';
import { answers, textOf } from '../support/wire-message.ts';
import { UpgradeRefused, WsClient } from '../support/ws-client.ts';

const { harness, journal } = useScripted(undefined, { listen: { maxBody: '64KiB' } });
const wsUrl = (): string => harness.gateway.endpoint('one', 'ws');

describe('the upgrade', () => {
  it('GW-082 echoes the subprotocol mcp, also among others', async () => {
    for (const protocols of [['mcp'], ['other', 'mcp']]) {
      const client = await harness.webSocket({}, { protocols });
      expect(client.protocol).toBe('mcp');
    }
  });

  it('GW-082 is accepted without a subprotocol, and then names none', async () => {
    const client = await harness.webSocket({}, { protocols: [] });
    expect(client.protocol).toBe('');
    expect((await client.request('ping')).result).toEqual({});
  });

  it('GW-082 with only other subprotocols is refused with 400', async () => {
    const refused = WsClient.connect(wsUrl(), { protocols: ['graphql-ws'] });
    await expect(refused).rejects.toEqual(new UpgradeRefused(400));
  });

  it('on a path that is no WebSocket endpoint is 404', async () => {
    for (const path of ['/servers/one/mcp', '/servers/nope/ws', '/nope']) {
      const refused = WsClient.connect(`${harness.gateway.url}${path}`);
      await expect(refused).rejects.toEqual(new UpgradeRefused(404));
    }
    const headers = { connection: 'upgrade', upgrade: 'websocket' };
    const { text } = await send(harness.gateway.url, { target: '/nope', headers });
    expect(text).toContain('Clients connect to: /servers/one/ws, ');
  });

  it('works under the short path too', async () => {
    const client = harness.track(await WsClient.connect(`${harness.gateway.url}/ws`));
    await client.initialize();
    expect(textOf(await client.call('echo', { a: 1 }))).toBe('{"a":1}');
  });
});

describe('C09 frames', () => {
  it.each(LEGACY_VERSIONS)('GW-082 carry one message each (%s)', async (version) => {
    const client = harness.track(await WsClient.connect(wsUrl()));
    const frames: { text: string; isBinary: boolean }[] = [];
    client.socket.on('message', (data: Buffer, isBinary: boolean) =>
      frames.push({ text: data.toString('utf8'), isBinary }),
    );
    const answer = await client.initialize({ version });
    expect(answer.result?.['protocolVersion']).toBe(version);
    await Promise.all([client.call('echo', { a: 1 }), client.call('echo', { a: 'b\nc' })]);
    expect(frames).toHaveLength(3);
    for (const { text, isBinary } of frames) {
      expect(isBinary).toBe(false);
      expect(text).not.toContain('\n');
      expect(JSON.parse(text)).toMatchObject({ jsonrpc: '2.0' });
    }
  });

  it('GW-082 with bad JSON are answered -32700 with id null, and the socket stays open', async () => {
    const client = await harness.webSocket();
    for (const text of ['{bad json', '', '\u0000', '{"a":1}{"b":2}']) {
      client.sendText(text);
      const refused = await client.messages.next(({ error }) => error !== undefined);
      expect(refused.error?.code).toBe(-32700);
      expect(refused.id ?? null).toBeNull();
    }
    expect((await client.request('ping')).result).toEqual({});
  });

  it('with JSON that is no message are answered -32600', async () => {
    const client = await harness.webSocket();
    for (const text of ['{"foo":1}', '1', '"x"', '{"jsonrpc":"1.0","id":4,"method":"ping"}']) {
      client.sendText(text);
      const refused = await client.messages.next(({ error }) => error !== undefined);
      expect(refused.error?.code).toBe(-32600);
    }
    expect((await client.request('ping')).result).toEqual({});
  });

  it('GW-082 that are binary close the socket with 1003', async () => {
    const client = await harness.webSocket();
    client.sendBinary(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}'));
    expect(await client.closed).toBe(1003);
  });

  it('over the size limit close it with 1009', async () => {
    const client = await harness.webSocket();
    client.sendText(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'x'.repeat(70_000) }));
    expect(await client.closed).toBe(1009);
  });

  it('with bytes that are not UTF-8 close it with 1007', async () => {
    const client = await harness.webSocket();
    client.socket.send(Buffer.from([0x7b, 0xff, 0xfe, 0x7d]), { binary: false });
    expect(await client.closed).toBe(1007);
  });

  it('before initialize are refused, except ping', async () => {
    const client = harness.track(await WsClient.connect(wsUrl()));
    expect((await client.request('ping')).result).toEqual({});
    expect((await client.request('tools/list')).error?.code).toBe(-32600);
    expect((await client.initialize()).result?.['protocolVersion']).toBe('2025-11-25');
  });

  it('with a second initialize are refused with -32600, the session unharmed (trial 47)', async () => {
    const client = await harness.webSocket();
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: {} };
    expect((await client.request('initialize', params)).error?.code).toBe(-32600);
    expect(textOf(await client.call('echo', {}))).toBe('{}');
  });
});

describe('B03 ids', () => {
  it.each([
    ['"init-1"'],
    ['"7f1c3f0e-4b62-4e39-8e3d-9b4a6d1f7a10"'],
    ['"42"'],
    ['42'],
    ['0'],
    ['-1'],
    ['""'],
    ['9007199254740991'],
  ])('of any kind come back as they were: %s (trial 29)', async (id) => {
    const client = await harness.webSocket();
    client.sendText(
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo","arguments":{}}}`,
    );
    const answer = await client.messages.next((message) => message.id !== undefined);
    expect(JSON.stringify(answer.id)).toBe(id);
    expect(textOf(answer)).toBe('{}');
  });

  it('of null and with a fraction are refused with -32600 (trials 32, 33)', async () => {
    const client = await harness.webSocket();
    const before = journal.messages('tools/list').length;
    for (const id of ['null', '1.5', 'true', '{}']) {
      client.sendText(`{"jsonrpc":"2.0","id":${id},"method":"tools/list"}`);
      const refused = await client.messages.next(({ error }) => error !== undefined);
      expect(refused.error?.code).toBe(-32600);
    }
    expect((await client.request('tools/list')).result).toBeDefined();
    expect(journal.messages('tools/list')).toHaveLength(before + 1);
  });

  it('that are in flight are refused with -32600, the first call unharmed (trial 27)', async () => {
    const client = await harness.webSocket();
    const first = client.begin('tools/call', { name: 'hold', arguments: { key: 'ws-dup' } }, 5);
    await journal.waitForEvent('held:ws-dup');
    client.sendText('{"jsonrpc":"2.0","id":5,"method":"tools/list"}');
    expect((await first.answer).error?.code).toBe(-32600);
    await client.call('release', { key: 'ws-dup' });
    expect(textOf(await client.messages.next(answers(5)))).toBe('held');
    expect(textOf(await client.call('echo', {}, 5))).toBe('{}');
  });

  it('1 and "1" in flight together are told apart', async () => {
    const client = await harness.webSocket();
    const number = client.call('slow', { ms: 60, v: 'number' }, 1);
    const text = client.call('slow', { ms: 10, v: 'text' }, '1');
    expect(textOf(await number)).toBe('number');
    expect(textOf(await text)).toBe('text');
  });

  it('equal over two sockets never cross (trial 26)', async () => {
    const a = await harness.webSocket();
    const b = await harness.webSocket();
    const slow = a.call('slow', { ms: 100, v: 'AAA' }, 7);
    const fast = b.call('slow', { ms: 10, v: 'BBB' }, 7);
    expect(textOf(await slow)).toBe('AAA');
    expect(textOf(await fast)).toBe('BBB');
  });
});

describe('the end of a socket', () => {
  it.each(['close', 'terminate'] as const)(
    'GW-083 by %s cancels its calls upstream, and nobody else notices (trial 7)',
    async (how) => {
      const gone = await harness.webSocket();
      const stays = await harness.webSocket();
      const key = `gone-${how}`;
      const ids: unknown[] = [];
      for (const part of ['a', 'b']) {
        gone.begin('tools/call', { name: 'hold', arguments: { key: `${key}-${part}` } });
        await journal.waitForEvent(`held:${key}-${part}`);
        ids.push((await journal.waitFor(({ raw }) => raw.includes(`"${key}-${part}"`))).id);
      }
      const waiting = stays.call('slow', { ms: 150, v: 'mine' }, 1);
      await gone[how]();
      for (const id of ids) {
        await journal.waitFor(
          ({ method, params }) =>
            method === 'notifications/cancelled' && params?.['requestId'] === id,
        );
      }
      expect(textOf(await waiting)).toBe('mine');
      expect(journal.starts).toHaveLength(1);
    },
  );
});
