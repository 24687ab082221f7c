/**
 * API keys: who comes in on which transport, what a session is without its owner's key, and what happens
 * to those who are inside when a key is revoked.
 */
import { describe, expect, it } from 'vitest';
import { TestKeys } from '../../support/api-keys.ts';
import { HttpExchange, POST_HEADERS, post, send } from '../../support/http-client.ts';
import { initializeRequest, LegacySession } from '../../support/legacy-session.ts';
import { fetchMetrics, metricSum } from '../../support/metrics.ts';
import { ModernClient } from '../../support/modern-client.ts';
import { exchangeRaw } from '../../support/raw-socket.ts';
import { scriptedServer } from '../../support/scripted-server.ts';
import { SseClient } from '../../support/sse-client.ts';
import { until } from '../../support/until.ts';
import { useScripted } from '../../support/use-gateway.ts';
import { UpgradeRefused, WsClient } from '../../support/ws-client.ts';

const keys = new TestKeys();
keys.add('alice', { groups: ['team'] });
keys.add('bob', { groups: ['team'] });
keys.add('guest', { groups: ['guests'] });
keys.add('old', { groups: ['team'], expires: '2026-01-02T00:00:00Z' });

const { harness, journal } = useScripted(scriptedServer(), {
  config: {
    auth: {
      keys: { file: keys.file },
      allow: [{ who: { groups: ['team'] }, servers: ['one'] }],
    },
    limits: { failedLoginsPerMinute: 1000 },
  },
});

type Headers = Readonly<Record<string, string>>;

async function upgradeStatus(path: string, headers: Headers): Promise<number> {
  try {
    const client = await WsClient.connect(`${harness.gateway.url}${path}`, { headers });
    await client.close();
    return 101;
  } catch (error) {
    if (error instanceof UpgradeRefused) return error.status;
    throw error;
  }
}

/** The status of each way in, for a client that knows somebody's session. */
async function statuses(extra: Headers, sessionId: string): Promise<Record<string, number>> {
  const headers = { ...POST_HEADERS, 'mcp-session-id': sessionId, ...extra };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
  const events = { ...headers, accept: 'text/event-stream' };
  const stream = new HttpExchange(harness.url(), { headers: events });
  const sse = new HttpExchange(harness.gateway.endpoint('one', 'sse'), { headers: events });
  const found = {
    post: (await send(harness.url(), { method: 'POST', headers, body })).status,
    get: (await stream.head).status,
    sse: (await sse.head).status,
    messages: (
      await send(harness.gateway.endpoint('one', 'messages?sessionId=x'), {
        method: 'POST',
        headers,
        body,
      })
    ).status,
    ws: await upgradeStatus('/servers/one/ws', extra),
    delete: (await send(harness.url(), { method: 'DELETE', headers })).status,
  };
  for (const exchange of [stream, sse]) exchange.destroy();
  return found;
}

const open = async (name: string): Promise<LegacySession> =>
  harness.track(await LegacySession.open(harness.url(), { headers: keys.headers(name) }));

const all = (status: number): Record<string, number> => ({
  post: status,
  get: status,
  sse: status,
  messages: status,
  ws: status,
  delete: status,
});

describe('without a good key', () => {
  it.each<[string, Headers]>([
    ['none', {}],
    ['an unknown one', { authorization: `Bearer gw_aaaaaaaaaaaa_${'A'.repeat(43)}` }],
    [
      'another secret under a known id',
      { authorization: `Bearer ${keys.key('alice').slice(0, -1)}!` },
    ],
    [
      'another secret under a known id that looks right',
      { authorization: `Bearer ${keys.key('alice').slice(0, 16)}${'A'.repeat(43)}` },
    ],
    ['a part of one', { authorization: `Bearer ${keys.key('alice').slice(0, 40)}` }],
    ['one of 10 KB', { authorization: `Bearer ${keys.key('alice')}${'A'.repeat(10_000)}` }],
    ['an expired one', keys.headers('old')],
    ['another scheme', { authorization: `Basic ${keys.key('alice')}` }],
    ['no scheme', { authorization: keys.key('alice') }],
    [
      'two in one header',
      { authorization: `Bearer ${keys.key('alice')}, Bearer ${keys.key('bob')}` },
    ],
    ['two different ones', { ...keys.headers('alice'), 'x-api-key': keys.key('bob') }],
    ['two of X-API-Key', { 'x-api-key': `${keys.key('alice')}, ${keys.key('bob')}` }],
    ['the id alone', { 'x-api-key': keys.key('alice').split('_')[1] ?? '' }],
    ['an identity header', { 'x-forwarded-user': 'alice', 'x-user': 'alice' }],
  ])('GW-155 B07 G04 G07 %s gets 401 everywhere, whatever session it names', async (_, headers) => {
    const session = await open('alice');
    const before = journal.messages().length;
    expect(await statuses(headers, session.sessionId)).toEqual(all(401));
    expect(journal.messages()).toHaveLength(before);
    expect((await session.request('ping')).result).toEqual({});
  });

  it('GW-153 A06 G09 a key in the address is none', async () => {
    const key = keys.key('alice');
    for (const name of ['access_token', 'key', 'api_key', 'token', 'ticket', 'authorization']) {
      const response = await send(`${harness.url()}?${name}=${key}`, {
        method: 'POST',
        headers: POST_HEADERS,
        body: JSON.stringify(initializeRequest()),
      });
      expect(response.status).toBe(401);
      expect(await upgradeStatus(`/servers/one/ws?${name}=${key}`, {})).toBe(401);
    }
  });

  it('G07 every refusal has the same body', async () => {
    const bodies = await Promise.all(
      [{}, keys.headers('old'), { authorization: 'Bearer x' }, { 'x-api-key': '' }].map(
        async (headers) =>
          (await post(harness.url(), initializeRequest(), headers).response()).text,
      ),
    );
    expect(new Set(bodies).size).toBe(1);
  });

  it('asks for a bearer', async () => {
    const { headers } = await post(harness.url(), initializeRequest()).response();
    expect(headers['www-authenticate']).toBe('Bearer realm="sluice"');
  });

  it.each([
    '/servers/one/mcp/sse',
    '//servers/one/mcp',
    '/servers/./one/mcp',
    '/servers/x/../one/mcp',
    '/servers/one%2fmcp',
    '/servers/one/mcp;x',
    '/SERVERS/one/mcp',
    '/servers/one/mcp%00',
    '/servers/one/mcp/',
    '/servers/one/mcp?x=/servers/one/mcp',
    `/${'x'.repeat(8_000)}`,
    '/metrics',
    '/healthz',
    '/readyz',
    '/.well-known/oauth-protected-resource',
    '/.well-known/oauth-protected-resource/servers/one/mcp',
  ])('A08 G03 %s is never served', async (target) => {
    for (const headers of [{}, keys.headers('guest')]) {
      const body = JSON.stringify(initializeRequest());
      const options = { method: 'POST', headers: { ...POST_HEADERS, ...headers }, body, target };
      expect([401, 404]).toContain((await send(harness.gateway.url, options)).status);
      const read = await send(harness.gateway.url, { headers, target });
      expect([401, 404]).toContain(read.status);
    }
  });
});

describe('for strangers every path looks the same', () => {
  const PATHS = [
    '/servers/one/mcp',
    '/servers/one/sse',
    '/servers/one/messages?sessionId=x',
    '/servers/one/ws',
    '/servers/one/tickets',
    '/mcp',
    '/servers/two/mcp',
    '/servers/two/tickets',
    '/register',
    '/',
  ];
  const answered = async (method: string, target: string, headers: Headers): Promise<string> => {
    const body = method === 'POST' ? { body: JSON.stringify(initializeRequest()) } : {};
    const options = { method, target, headers: { ...POST_HEADERS, ...headers }, ...body };
    const response = await send(harness.gateway.url, options);
    const { date: _, ...left } = response.headers;
    return JSON.stringify([response.status, left, response.text]);
  };

  it.each<[string, Headers]>([
    ['no key', {}],
    ['a wrong key', { 'x-api-key': 'gw_no' }],
    ['a page of a browser', { origin: 'http://127.0.0.1' }],
  ])('A08 G05 with %s', async (_, headers) => {
    for (const method of ['GET', 'POST', 'DELETE', 'PUT', 'HEAD', 'OPTIONS']) {
      const [there] = PATHS;
      const expected = await answered(method, there ?? '', headers);
      if (method !== 'OPTIONS') expect(expected).toMatch(/^\[40[13],/);
      for (const target of PATHS) {
        expect(await answered(method, target, headers), `${method} ${target}`).toBe(expected);
      }
    }
  });

  it('A06 A08 when they ask for a WebSocket', async () => {
    const upgraded = (path: string): Promise<string> =>
      exchangeRaw(
        harness.gateway.url,
        `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
          'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
      );
    const there = await upgraded('/servers/one/ws');
    expect(there).toContain('401 Unauthorized');
    for (const path of ['/servers/two/ws', '/servers/one/mcp', '/nope']) {
      expect(await upgraded(path)).toBe(there);
    }
  });

  it('documents that clients look for before they log in are not there, rather than locked', async () => {
    const target = '/.well-known/oauth-authorization-server/servers/one/mcp';
    expect((await send(harness.gateway.url, { target })).status).toBe(404);
  });

  it('A08 with a good key a path that does not exist is told from others', async () => {
    const headers = { ...POST_HEADERS, ...keys.headers('alice') };
    const { status, text } = await send(harness.gateway.url, { target: '/nope', headers });
    expect(status).toBe(404);
    expect(text).toContain('Clients connect to: /servers/one/mcp');
    expect(await upgradeStatus('/nope', keys.headers('alice'))).toBe(404);
  });
});

describe('with a key', () => {
  it('comes in on every transport, in both headers', async () => {
    for (const headers of [keys.headers('alice'), { 'x-api-key': keys.key('alice') }]) {
      const session = harness.track(await LegacySession.open(harness.url(), { headers }));
      expect((await session.call('echo', { text: 'hi' })).result).toBeDefined();
      const ws = await harness.webSocket({}, { headers });
      expect((await ws.request('ping')).result).toEqual({});
      const sse = harness.track(
        await SseClient.open(harness.gateway.endpoint('one', 'sse'), headers),
      );
      await sse.initialize({ version: '2024-11-05' });
      expect((await sse.request('ping')).result).toEqual({});
    }
  });

  it('GW-154 D01 it reaches no server', async () => {
    const session = await open('alice');
    await session.call('echo', { text: 'hi' });
    expect(JSON.stringify(journal.messages())).not.toContain(keys.key('alice'));
  });

  it('GW-155 B06 the session of somebody else is unknown, on every verb', async () => {
    const session = await open('alice');
    const { authorization } = keys.headers('bob');
    const found = await statuses({ authorization }, session.sessionId);
    expect(found).toEqual({ ...all(404), sse: 200, ws: 101 });
    const foreign = await session
      .post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { authorization })
      .response();
    const unknown = await post(
      harness.url(),
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { authorization, 'mcp-session-id': 'A'.repeat(43) },
    ).response();
    expect(foreign.text).toBe(unknown.text);
    expect((await session.request('ping')).result).toEqual({});
  });

  it('B08 nobody else takes over a stream', async () => {
    const session = await open('alice');
    const stream = session.openStream();
    expect((await stream.head).status).toBe(200);
    const headers = { ...session.headers, ...keys.headers('bob'), accept: 'text/event-stream' };
    const other = new HttpExchange(harness.url(), { headers });
    expect((await other.head).status).toBe(404);
    expect(stream.comments).not.toContain('superseded');
  });

  it('G02 an endpoint of a server that is not allowed does not exist', async () => {
    const { status, text } = await post(
      harness.url(),
      initializeRequest(),
      keys.headers('guest'),
    ).response();
    const nowhere = await post(
      harness.gateway.endpoint('two'),
      initializeRequest(),
      keys.headers('guest'),
    ).response();
    expect([status, text]).toEqual([404, nowhere.text]);
    expect(text).not.toContain('/servers/');
  });
});

describe('a revoked key', () => {
  it('G08 gets 401 at once, and what it has open ends', async () => {
    keys.add('temp', { groups: ['team'] });
    const headers = keys.headers('temp');
    const client = new ModernClient(harness.url());
    await until(async () => {
      const { status } = await post(harness.url(), initializeRequest(), headers).response();
      return status === 200 || undefined;
    });
    const session = harness.track(await LegacySession.open(harness.url(), { headers }));
    const stream = session.openStream();
    await stream.head;
    const ws = await harness.webSocket({}, { headers });
    const alice = await open('alice');
    const kept = alice.openStream();
    await kept.head;
    keys.revoke('temp');
    expect(await ws.closed).toBe(1008);
    await stream.events.ended;
    const modern = client.begin('server/discover', {}, { headers });
    expect((await modern.exchange.head).status).toBe(401);
    expect((await session.begin('ping').exchange.head).status).toBe(401);
    expect((await alice.request('ping')).result).toEqual({});
    const ended = await Promise.race([kept.events.ended.then(() => true), Promise.resolve(false)]);
    expect(ended).toBe(false);
  });
});

describe('a call that waits for its client', () => {
  const serverRequests = (): number =>
    journal.messages().filter(({ result }) => result?.['action'] === 'cancel').length;
  const inFlight = async (): Promise<number> =>
    metricSum(await fetchMetrics(harness.gateway.adminUrl), 'sluice_requests_in_flight');

  const status = async (name: string): Promise<number> => {
    const client = new ModernClient(harness.url(), {}, keys.headers(name));
    return (await client.begin('server/discover').exchange.head).status;
  };

  /** Asks something of the owner of a key, and leaves it unanswered. */
  async function asked(name: string): Promise<void> {
    const client = new ModernClient(
      harness.url(),
      { elicitation: { form: {} } },
      keys.headers(name),
    );
    harness.track(client);
    await until(async () => {
      const round = await client.call('ask', {});
      return round.result?.['resultType'] === 'input_required' || undefined;
    });
  }

  it('G08 ends with the key: the server is told that nobody answers, and nothing is left', async () => {
    keys.add('asked', { groups: ['team'] });
    keys.add('unused', { groups: ['team'] });
    await asked('asked');
    const before = serverRequests();
    expect(await inFlight()).toBe(1);
    // Somebody else's.
    keys.revoke('unused');
    await until(async () => (await status('unused')) === 401);
    expect(serverRequests()).toBe(before);
    keys.revoke('asked');
    await until(() => serverRequests() === before + 1);
    await until(async () => (await inFlight()) === 0);
  });

  it('G08 ends when the key runs out', async () => {
    const expires = new Date(Date.now() + 5_000).toISOString();
    keys.add('brief', { groups: ['team'], expires });
    await asked('brief');
    const before = serverRequests();
    await until(() => serverRequests() === before + 1);
  });
});

describe('a ticket', () => {
  const ticket = async (name: string): Promise<string> => {
    const url = harness.gateway.endpoint('one', 'tickets');
    const { status, json } = await post(url, {}, keys.headers(name)).response();
    expect(status).toBe(200);
    return (json() as { ticket: string }).ticket;
  };

  it('opens one WebSocket, once', async () => {
    const path = `/servers/one/ws?ticket=${await ticket('alice')}`;
    expect(await upgradeStatus(path, {})).toBe(101);
    expect(await upgradeStatus(path, {})).toBe(401);
  });

  it('opens one event stream, whose messages need the key of its owner', async () => {
    const url = `${harness.gateway.endpoint('one', 'sse')}?ticket=${await ticket('alice')}`;
    const client = harness.track(await SseClient.open(url));
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify(initializeRequest());
    const status = async (extra: Headers): Promise<number> =>
      (await send(client.postUrl, { method: 'POST', headers: { ...headers, ...extra }, body }))
        .status;
    expect(await status({})).toBe(401);
    expect(await status(keys.headers('bob'))).toBe(404);
    expect(await status(keys.headers('alice'))).toBe(202);
  });

  it('is good for nothing else', async () => {
    const text = await ticket('alice');
    const response = await post(`${harness.url()}?ticket=${text}`, initializeRequest()).response();
    expect(response.status).toBe(401);
    expect(
      (
        await post(harness.url(), initializeRequest(), {
          authorization: `Bearer ${text}`,
        }).response()
      ).status,
    ).toBe(401);
  });

  it('B10 a ticket is good at its endpoint only', async () => {
    const text = await ticket('alice');
    expect(await upgradeStatus(`/ws?ticket=${text}`, {})).toBe(401);
    // Trying it there used it up.
    expect(await upgradeStatus(`/servers/one/ws?ticket=${text}`, {})).toBe(401);
  });

  it('B10 an event stream takes messages at its endpoint only', async () => {
    const headers = { ...keys.headers('alice'), 'content-type': 'application/json' };
    const url = harness.gateway.endpoint('one', 'sse');
    const client = harness.track(await SseClient.open(url, keys.headers('alice')));
    const body = JSON.stringify(initializeRequest());
    const elsewhere = client.postUrl.replace('/servers/one/', '/');
    const before = journal.messages().length;
    expect((await send(elsewhere, { method: 'POST', headers, body })).status).toBe(404);
    expect(journal.messages()).toHaveLength(before);
    expect((await send(client.postUrl, { method: 'POST', headers, body })).status).toBe(202);
  });

  it('G08 the ticket of a revoked key is none', async () => {
    const url = harness.gateway.endpoint('one', 'tickets');
    keys.add('passing', { groups: ['team'] });
    const text = await until(async () => {
      const { status, json } = await post(url, {}, keys.headers('passing')).response();
      return status === 200 && (json() as { ticket: string }).ticket;
    });
    const headers = keys.headers('passing');
    keys.revoke('passing');
    await until(async () => (await post(harness.url(), {}, headers).head).status === 401);
    expect(await upgradeStatus(`/servers/one/ws?ticket=${text}`, {})).toBe(401);
  });

  it('is not given without a key', async () => {
    const url = harness.gateway.endpoint('one', 'tickets');
    expect((await post(url, {}).response()).status).toBe(401);
  });
});

it('G07 H02 no key is in the log', async () => {
  const session = await open('alice');
  await session.call('echo', { text: 'hi' });
  const log = JSON.stringify(harness.gateway.logs());
  for (const name of ['alice', 'bob', 'old']) expect(log).not.toContain(keys.key(name).slice(16));
});
