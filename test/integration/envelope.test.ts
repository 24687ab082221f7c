/**
 * The JSON-RPC envelope from outside: what is refused and how, whose id an answer carries, and what a
 * broken server's messages do (nothing).
 */
import { describe, expect, it } from 'vitest';
import { POST_HEADERS, post } from '../support/http-client.ts';
import { LEGACY_VERSIONS } from '../support/legacy-session.ts';
import { useScripted } from '../support/use-gateway.ts';
import { type Json, textOf, type WireMessage } from '../support/wire-message.ts';

const { harness, journal } = useScripted();

/** Checks a refusal: the status, a JSON body, the code, and the id (null may also be absent). */
async function expectRefusal(
  exchange: ReturnType<typeof post>,
  expected: { readonly code: number; readonly id?: unknown },
): Promise<void> {
  const response = await exchange.response();
  expect(response.status).toBe(400);
  expect(response.headers['content-type']).toMatch(/^application\/json/);
  const body = response.json() as Json;
  expect(body).toMatchObject({ jsonrpc: '2.0', error: { code: expected.code } });
  expect(body['id'] ?? null).toEqual(expected.id ?? null);
}

/** How many messages the server has got, after a full round trip through the same session. */
async function receivedAfterFence(
  session: Awaited<ReturnType<typeof harness.session>>,
): Promise<number> {
  await session.call('pid');
  return journal.messages().length;
}

describe.each(LEGACY_VERSIONS)('in a %s session', (version) => {
  it.each(['{bad json', '', '{"jsonrpc":"2.0"', "{'a':1}", '{"a":1}x', '\ufeff{', '[1,'])(
    'GW-001 a body that is not JSON (%j) gets 400 and -32700 (trial 81)',
    async (body) => {
      const session = await harness.session({ version });
      await expectRefusal(session.post(body), { code: -32700 });
    },
  );

  it.each(['{"foo":1}', '{}', '3', '"text"', 'null', 'true'])(
    'GW-002 JSON that is no JSON-RPC message (%s) gets 400 and -32600',
    async (body) => {
      const session = await harness.session({ version });
      await expectRefusal(session.post(body), { code: -32600 });
    },
  );

  it.each(['null', '1.5', 'true', '{}', '[]'])(
    'GW-003 a request with the id %s is refused and never reaches the server',
    async (id) => {
      const session = await harness.session({ version });
      const before = await receivedAfterFence(session);
      const call = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"count"}}`;
      await expectRefusal(session.post(call), { code: -32600 });
      expect(await receivedAfterFence(session)).toBe(before + 1);
    },
  );

  it('GW-004 an answer carries the id with its type and value', async () => {
    const session = await harness.session({ version });
    const uuid = '"5f3c1de2-8a55-4b53-a3c8-0b14a4d1c7a1"';
    for (const id of ['0', '""', '-1', '"1"', '1', '"42"', '"init-1"', uuid, '9007199254740993']) {
      const params = `{"name":"echo","arguments":{"id":${id}}}`;
      const exchange = session.post(
        `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`,
      );
      const answer = await exchange.messages.next();
      expect(answer.raw).toContain(`"id":${id}`);
      expect(textOf(answer)).toBe(`{"id":${id}}`);
    }
  });

  it('GW-007 a notification of an unknown method gets 202 and no body', async () => {
    const session = await harness.session({ version });
    for (const method of ['notifications/unknown', 'tools/call', 'vendor/whatever']) {
      const response = await session.notify(method, { a: 1 });
      expect(response.status).toBe(202);
      expect(response.body).toHaveLength(0);
    }
  });

  it.each(['"1.0"', '"2"', '2.0', 'null', undefined])(
    'GW-008 a request with jsonrpc %s is refused under its own id',
    async (jsonrpc) => {
      const session = await harness.session({ version });
      const member = jsonrpc === undefined ? '' : `"jsonrpc":${jsonrpc},`;
      await expectRefusal(session.post(`{${member}"id":"mine","method":"ping"}`), {
        code: -32600,
        id: 'mine',
      });
    },
  );

  it.each(['"method":5', '"method":"ping","params":[1]', '"method":"ping","params":"x"'])(
    'GW-002 a request with %s is refused under its own id',
    async (members) => {
      const session = await harness.session({ version });
      await expectRefusal(session.post(`{"jsonrpc":"2.0","id":7,${members}}`), {
        code: -32600,
        id: 7,
      });
    },
  );
});

describe('without a session', () => {
  it('GW-001 GW-002 broken bodies get the same answers', async () => {
    await expectRefusal(post(harness.url(), '{bad json'), { code: -32700 });
    await expectRefusal(post(harness.url(), '{"foo":1}'), { code: -32600 });
    const nulled = { jsonrpc: '2.0', id: null, method: 'tools/list' };
    await expectRefusal(post(harness.url(), nulled), { code: -32600 });
  });
});

describe('ids', () => {
  it('GW-005 `1` and `"1"` in flight together in one session reach the right caller', async () => {
    const session = await harness.session();
    const first = session.beginCall('hold', { key: 'n', v: 'number' }, { id: 1 });
    await journal.waitForEvent('held:n');
    const second = session.beginCall('hold', { key: 's', v: 'string' }, { id: '1' });
    await journal.waitForEvent('held:s');
    await session.call('release', { key: 's' }, { id: 's' });
    await session.call('release', { key: 'n' }, { id: 'n' });
    expect(textOf(await first.answer)).toBe('number');
    expect(textOf(await second.answer)).toBe('string');
  });

  it('GW-006 two clients with the same id at once get their own results', async () => {
    const [a, b] = [await harness.session(), await harness.session()];
    const first = a.beginCall('hold', { key: 'a', v: 'AAA' }, { id: 7 });
    const second = b.beginCall('hold', { key: 'b', v: 'BBB' }, { id: 7 });
    await Promise.all([journal.waitForEvent('held:a'), journal.waitForEvent('held:b')]);
    await b.call('release', { key: 'b' });
    expect(textOf(await second.answer)).toBe('BBB');
    await a.call('release', { key: 'a' });
    expect(textOf(await first.answer)).toBe('AAA');
  });

  it('GW-006 two clients of different transports with the same id get their own results', async () => {
    const { ws, sse } = await harness.channels();
    const http = await harness.session();
    const hold = (key: string): Json => ({ name: 'hold', arguments: { key, v: key } });
    const answersTo = {
      ws1: ws.begin('tools/call', hold('ws1'), 1).answer,
      sse1: sse.begin('tools/call', hold('sse1'), 1).answer,
      http1: http.beginCall('hold', { key: 'http1', v: 'http1' }, { id: 1 }).answer,
    };
    const keys = Object.keys(answersTo) as (keyof typeof answersTo)[];
    for (const key of keys) await journal.waitForEvent(`held:${key}`);
    for (const key of keys.toReversed()) {
      await http.call('release', { key }, { id: key });
      expect(textOf(await answersTo[key])).toBe(key);
    }
  });

  it('GW-006 one session may use one id for several POSTs at once', async () => {
    const session = await harness.session();
    const first = session.beginCall('hold', { key: 'd1', v: 'one' }, { id: 5 });
    await journal.waitForEvent('held:d1');
    const second = session.beginCall('hold', { key: 'd2', v: 'two' }, { id: 5 });
    await journal.waitForEvent('held:d2');
    await session.call('release', { key: 'd2' }, { id: 'r2' });
    await session.call('release', { key: 'd1' }, { id: 'r1' });
    expect(textOf(await first.answer)).toBe('one');
    expect(textOf(await second.answer)).toBe('two');
  });

  it('GW-004 ids keep type and value on WebSocket and HTTP+SSE', async () => {
    for (const client of Object.values(await harness.channels())) {
      for (const id of ['0', '""', '-1', '"1"', '1', '"42"', '9007199254740993']) {
        const params = `{"name":"echo","arguments":{"i":${id}}}`;
        client.sendText(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`);
        const answer = await client.messages.next();
        expect(answer.raw).toContain(`"id":${id}`);
        expect(textOf(answer)).toBe(`{"i":${id}}`);
      }
    }
  });

  it('GW-009 the server never sees one id twice although clients reuse theirs', async () => {
    const sessions = [await harness.session(), await harness.session()];
    for (const session of sessions) {
      for (let i = 0; i < 5; i++) await session.call('echo', { i }, { id: 1 });
    }
    const requests = journal.messages().filter(({ id, method }) => method && id !== undefined);
    const ids = requests.map((message) => `${message.pid} ${JSON.stringify(message.id)}`);
    expect(ids.length).toBeGreaterThan(10);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('notifications on channels', () => {
  it('GW-007 an unknown one is answered by nothing', async () => {
    for (const client of Object.values(await harness.channels())) {
      const before = client.messages.all.length;
      client.notify('notifications/unknown', { a: 1 });
      client.notify('tools/call', { name: 'count' });
      await client.request('ping', undefined, 'fence');
      expect(client.messages.all).toHaveLength(before + 1);
    }
  });
});

describe('a broken server', () => {
  const clean = (messages: readonly WireMessage[], id: unknown): void => {
    expect(messages.map((message) => message.id)).toEqual([id]);
  };

  it.each([
    ['bad_id', 'right'],
    ['dup', 'first'],
  ])('GW-010 stray responses of `%s` reach nobody', async (tool, text) => {
    const [caller, other] = [await harness.session(), await harness.session()];
    const stream = other.openStream();
    await stream.head;
    const pending = caller.beginCall(tool);
    expect(textOf(await pending.answer)).toBe(text);
    // A round trip behind the stray ones: they have been handled when it is back.
    expect(textOf(await other.call('echo', { a: 1 }))).toBe('{"a":1}');
    await pending.exchange.response();
    clean(pending.exchange.messages.all, pending.id);
    expect(stream.messages.all.filter((message) => message.method === undefined)).toEqual([]);
  });

  it('GW-010 noise on stdout is dropped and the real messages are kept', async () => {
    const ws = await harness.webSocket();
    const before = ws.messages.all.length;
    expect(textOf(await ws.call('noise'))).toBe('after the noise');
    expect(textOf(await ws.call('echo', { a: 1 }))).toBe('{"a":1}');
    const logs = ws.messages.all.slice(before).filter((message) => message.method !== undefined);
    expect(logs.map((message) => message.params?.['data'])).toEqual(['real']);
  });

  it.each(['both', 'neither'])(
    'GW-010 an answer with %s of result and error is -32603',
    async (tool) => {
      const session = await harness.session();
      const answer = await session.call(tool);
      expect(answer.error?.code).toBe(-32603);
      expect(answer.result).toBeUndefined();
      expect(textOf(await session.call('echo', { a: 1 }))).toBe('{"a":1}');
    },
  );

  it('GW-010 an error code that is no integer becomes -32603 with the message kept', async () => {
    const session = await harness.session();
    expect((await session.call('string_code')).error).toMatchObject({
      code: -32603,
      message: 'bad',
    });
  });
});

describe.each(LEGACY_VERSIONS)('results in a %s session', (version) => {
  it('GW-016 carry no member of the modern era', async () => {
    const session = await harness.session({ version });
    const results = [
      session.initializeAnswer,
      await session.request('tools/list'),
      await session.request('resources/list'),
      await session.request('resources/read', { uri: 'test://one' }),
      await session.request('prompts/list'),
      await session.call('echo', { a: 1 }),
    ];
    for (const { result } of results) {
      expect(result).toBeDefined();
      expect(Object.keys(result ?? {})).not.toEqual(
        expect.arrayContaining([expect.stringMatching(/^(resultType|ttlMs|cacheScope)$/)]),
      );
    }
  });

  it('GW-016 that say nothing are exactly {}', async () => {
    const session = await harness.session({ version });
    for (const [method, params] of [
      ['ping', {}],
      ['ping', undefined],
      ['logging/setLevel', { level: 'error' }],
      ['resources/subscribe', { uri: 'test://one' }],
      ['resources/unsubscribe', { uri: 'test://one' }],
    ] as const) {
      const answer = await session.request(method, params);
      expect(answer.raw).toMatch(/"result":\{\}/);
    }
  });
});

describe('_meta', () => {
  const ours =
    '{"vendor.example/k":{"n":1.0,"e":1E2},"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",' +
    '"tracestate":"a=b","baggage":"k=v","bare":"\\u00e9"';
  const trace = (meta: string): unknown =>
    String((JSON.parse(meta) as Json)['traceparent']).split('-')[1];

  it.each(['', ',"progressToken":"t"', ',"progressToken":0'])(
    'GW-019 of a request (with %j) reaches the server unchanged, but for the token',
    async (token) => {
      const session = await harness.session();
      const params = `{"name":"meta","_meta":${ours}${token}}}`;
      const exchange = session.post(
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`,
      );
      const seen = textOf(await exchange.answer(1));
      expect(seen).toContain('"vendor.example/k":{"n":1.0,"e":1E2}');
      expect(seen).toContain('"tracestate":"a=b","baggage":"k=v","bare":"\\u00e9"');
      expect(trace(seen)).toBe('0af7651916cd43dd8448eb211c80319c');
      expect(seen.includes('progressToken')).toBe(token !== '');
    },
  );

  it('GW-019 of a result, a list entry and a notification reaches the client unchanged', async () => {
    const session = await harness.session();
    expect((await session.call('bigint')).raw).toContain('"_meta":{"vendor.example/x":1.50}');
    expect((await session.request('tools/list')).raw).toContain(
      '"_meta":{"vendor.example/tool":{"k":1E2}}',
    );
    const ws = await harness.webSocket();
    const method = 'notifications/resources/updated';
    await ws.request('resources/subscribe', { uri: 'test://m' });
    const params = '{"uri":"test://m","_meta":{"vendor.example/n":1.50}}';
    ws.sendText(
      `{"jsonrpc":"2.0","id":"n","method":"tools/call","params":{"name":"notify","arguments":{"method":"${method}","params":${params}}}}`,
    );
    const updated = await ws.messages.next((message) => message.method === method);
    expect(updated.raw).toContain('"_meta":{"vendor.example/n":1.50}');
  });
});

it('GW-001 the answer to bad JSON does not depend on Accept', async () => {
  const response = await post(harness.url(), '{bad', { ...POST_HEADERS, accept: '*/*' }).response();
  expect(response.status).toBe(400);
  expect(response.json()).toMatchObject({ error: { code: -32700 } });
});
