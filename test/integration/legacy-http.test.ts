/**
 * Streamable HTTP for the legacy versions, apart from its streams: negotiation, session ids, statuses,
 * headers, verbs and paths.
 */
import { describe, expect, it } from 'vitest';
import { HttpExchange, POST_HEADERS, post, send } from '../support/http-client.ts';
import {
  initializeRequest,
  LEGACY_VERSIONS,
  type LegacySession,
} from '../support/legacy-session.ts';
import { waitGone } from '../support/processes.ts';
import { exchangeRaw } from '../support/raw-socket.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { useGateway } from '../support/use-gateway.ts';
import { answers, type Json, textOf } from '../support/wire-message.ts';

const one = scriptedServer();
const own = scriptedServer({ config: { sharing: 'session' } });
const harness = useGateway(() => ({
  servers: { one: one.config, own: own.config },
  listen: { maxBody: '1MiB' },
}));

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };
const HTTP_VERSIONS = LEGACY_VERSIONS.filter((version) => version !== '2024-11-05');

describe('initialize', () => {
  it.each(LEGACY_VERSIONS)('GW-050 with %s is answered with the same version', async (version) => {
    const session = await harness.session({ version });
    expect(session.version).toBe(version);
    expect(session.initializeAnswer.result).toMatchObject({
      capabilities: { tools: {} },
      serverInfo: { name: expect.any(String), version: expect.any(String) },
    });
    expect(Array.isArray((await session.request('tools/list')).result?.['tools'])).toBe(true);
  });

  it.each(['1999-01-01', '2026-07-28', '', 'x'])(
    'GW-050 with the unknown version %j is answered with the newest legacy one',
    async (version) => {
      expect((await harness.session({ version })).version).toBe('2025-11-25');
    },
  );

  it.each(LEGACY_VERSIONS)('GW-050 with %s works on WebSocket and HTTP+SSE', async (version) => {
    const ws = await harness.webSocket({ version });
    const sse = await harness.sse({ version });
    for (const client of [ws, sse]) {
      const answer = client.messages.all.find(answers(0));
      expect(answer?.result?.['protocolVersion']).toBe(version);
    }
  });

  it('GW-050 carries the instructions and the information of the server', async () => {
    const { result } = (await harness.session()).initializeAnswer;
    expect(result?.['instructions']).toBe('Do as the script says.');
  });

  it('GW-051 makes a session id that cannot be guessed, different each time', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 8; i++) ids.push((await harness.session()).sessionId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) {
      expect(id).toMatch(/^[\x21-\x7e]{22,}$/);
      // A version 4 UUID has 122 random bits only.
      expect(id).not.toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i);
    }
  });

  it('GW-051 that fails makes no session', async () => {
    const exchange = post(harness.url(), {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: {},
    });
    const response = await exchange.response();
    if (exchange.messages.all[0]?.error) {
      expect(response.headers['mcp-session-id']).toBeUndefined();
    } else {
      const sessionId = String(response.headers['mcp-session-id']);
      await send(harness.url(), { method: 'DELETE', headers: { 'mcp-session-id': sessionId } });
    }
  });

  it('GW-064 on a live session gets 400 and -32600, and the session still works', async () => {
    const session = await harness.session();
    const response = await session.post(initializeRequest({}, 'again')).response();
    expect(response.status).toBe(400);
    expect(response.json()).toMatchObject({ id: 'again', error: { code: -32600 } });
    expect(textOf(await session.call('echo', { a: 1 }))).toBe('{"a":1}');
    expect(one.journal.messages('initialize')).toHaveLength(one.journal.starts.length);
  });

  it('GW-064 with a dead session id makes a fresh session', async () => {
    const exchange = post(harness.url(), initializeRequest(), { 'mcp-session-id': 'long-gone' });
    const { status, headers } = await exchange.response();
    expect(status).toBe(200);
    const sessionId = String(headers['mcp-session-id']);
    expect(sessionId).not.toBe('long-gone');
    await send(harness.url(), { method: 'DELETE', headers: { 'mcp-session-id': sessionId } });
  });

  it('reaches a shared server once, however many clients come (trial 45)', async () => {
    await Promise.all(Array.from({ length: 20 }, () => harness.session()));
    expect(one.journal.messages('initialize')).toHaveLength(1);
    expect(one.journal.messages('notifications/initialized')).toHaveLength(1);
  });
});

describe.each(HTTP_VERSIONS)('in a %s session', (version) => {
  it('GW-052 a request without the session id gets 400', async () => {
    const session = await harness.session({ version });
    const { 'mcp-session-id': _, ...headers } = session.headers;
    for (const body of [PING, { jsonrpc: '2.0', method: 'notifications/x' }]) {
      const response = await post(harness.url(), body, headers).response();
      expect(response.status).toBe(400);
      expect(response.headers['content-type']).toMatch(/^application\/json/);
    }
    const get = { headers: { ...headers, accept: 'text/event-stream' } };
    expect((await send(harness.url(), get)).status).toBe(400);
    expect((await send(harness.url(), { method: 'DELETE', headers })).status).toBe(400);
  });

  it('GW-054 DELETE ends the session: 2xx, then 404 for everything', async () => {
    const session = await harness.session({ version });
    const stream = session.openStream();
    expect((await stream.head).status).toBe(200);
    const deleted = await session.delete();
    expect(deleted.status).toBe(200);
    expect(deleted.body).toHaveLength(0);
    await stream.events.ended;
    expect((await session.post(PING).response()).status).toBe(404);
    expect((await session.openStream().response()).status).toBe(404);
    expect((await session.delete()).status).toBe(404);
  });

  it('GW-054 DELETE ends the process of a session that has its own', async () => {
    const session = await harness.session({ version, server: 'own' });
    const pid = Number(textOf(await session.call('pid')));
    expect(own.journal.starts).toContain(pid);
    await session.delete();
    await waitGone([pid]);
  });

  it('GW-055 notifications and responses get 202 and no body', async () => {
    const session = await harness.session({ version, initialized: false });
    const answersToSend = [
      await session.notify('notifications/initialized'),
      await session.notify('notifications/roots/list_changed'),
      await session.respond('nobody asked', { action: 'accept' }),
      await session.respondError(3, { code: -1, message: 'no' }),
    ];
    for (const response of answersToSend) {
      expect(response.status).toBe(202);
      expect(response.body).toHaveLength(0);
    }
  });

  it('GW-055 a request before `initialized` is served', async () => {
    const session = await harness.session({ version, initialized: false });
    expect((await session.request('ping')).result).toEqual({});
    expect(textOf(await session.call('echo', { a: 1 }))).toBe('{"a":1}');
  });

  it('GW-068 an unknown method gets 200 and -32601', async () => {
    const session = await harness.session({ version });
    const { exchange, id } = session.begin('no/such/method', {});
    const response = await exchange.response();
    expect(response.status).toBe(200);
    const [answer] = exchange.messages.all;
    expect(answer).toMatchObject({ id, error: { code: -32601 } });
  });

  it('GW-068 an unknown tool gets 200 and the error of the server', async () => {
    const session = await harness.session({ version });
    const { exchange, answer } = session.beginCall('no_such_tool');
    expect((await answer).error?.code).toBe(-32602);
    expect((await exchange.head).status).toBe(200);
  });
});

describe('an unknown session id', () => {
  it.each(['nope', 'toString', 'constructor', '__proto__', 'x'.repeat(500)])(
    'GW-053 %s gets 404 for every verb (trial 69)',
    async (id) => {
      const headers = { 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' };
      const posted = await post(harness.url(), PING, headers).response();
      expect(posted.status).toBe(404);
      expect(posted.json()).toMatchObject({ error: { code: -32001 } });
      const notified = { jsonrpc: '2.0', method: 'notifications/initialized' };
      expect((await post(harness.url(), notified, headers).response()).status).toBe(404);
      const get = { headers: { ...headers, accept: 'text/event-stream' } };
      expect((await send(harness.url(), get)).status).toBe(404);
      expect((await send(harness.url(), { method: 'DELETE', headers })).status).toBe(404);
    },
  );

  it('GW-053 of another server gets 404', async () => {
    const session = await harness.session();
    const { status } = await post(harness.url('own'), PING, session.headers).response();
    expect(status).toBe(404);
  });
});

describe('the version header', () => {
  const status = async (version: string, header: string): Promise<number> => {
    const session = await harness.session({ version });
    return (await session.post(PING, { 'mcp-protocol-version': header }).head).status;
  };

  it.each(['2025-06-18', '2025-11-25'])(
    'GW-056 that names no version gets 400 in %s (trial 72)',
    async (version) => {
      for (const header of ['nonsense', '1999-01-01', '2025-11-25x']) {
        expect(await status(version, header)).toBe(400);
      }
    },
  );

  it.each(LEGACY_VERSIONS)(
    'GW-056 that is absent or names a legacy version is served in %s',
    async (version) => {
      const session = await harness.session({ version });
      const { 'mcp-protocol-version': _, ...headers } = session.headers;
      expect((await post(harness.url(), PING, headers).head).status).toBe(200);
      for (const header of HTTP_VERSIONS) expect(await status(version, header)).toBe(200);
    },
  );

  it('GW-056 that is nonsense gets 400 on GET and DELETE, and the session stays', async () => {
    const session = await harness.session();
    const headers = { ...session.headers, 'mcp-protocol-version': 'nonsense' };
    const get = { headers: { ...headers, accept: 'text/event-stream' } };
    expect((await send(harness.url(), get)).status).toBe(400);
    expect((await send(harness.url(), { method: 'DELETE', headers })).status).toBe(400);
    expect((await session.request('ping')).result).toEqual({});
  });

  it('GW-056 that names the modern version without a claim in the body gets 400', async () => {
    const session = await harness.session();
    const exchange = session.post(PING, { 'mcp-protocol-version': '2026-07-28' });
    expect((await exchange.head).status).toBe(400);
  });
});

describe('content negotiation', () => {
  it('GW-065 a Content-Type that is not JSON gets 415', async () => {
    const session = await harness.session();
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx']) {
      expect((await session.post(PING, { 'content-type': type }).head).status).toBe(415);
    }
    const { accept = '' } = POST_HEADERS;
    const headers = { ...session.headers, accept };
    const body = JSON.stringify(PING);
    expect((await send(harness.url(), { method: 'POST', headers, body })).status).toBe(415);
    for (const type of ['application/json; charset=utf-8', 'Application/JSON']) {
      expect((await session.post(PING, { 'content-type': type }).head).status).toBe(200);
    }
  });

  it('GW-065 an Accept that fits nothing gets 406 and says in JSON what is wanted', async () => {
    const session = await harness.session();
    const posted = await session.post(PING, { accept: 'text/html' }).response();
    expect(posted.status).toBe(406);
    expect(posted.text).toContain('application/json');
    expect(posted.json()).toMatchObject({ error: {} });
    const get = { headers: { ...session.headers, accept: 'application/json' } };
    expect((await send(harness.url(), get)).status).toBe(406);
  });

  it.each(['*/*', 'application/*', 'application/json;q=0.9, text/event-stream;q=0.1'])(
    'GW-065 Accept: %s is served (trial 71)',
    async (accept) => {
      const session = await harness.session();
      expect((await session.post(PING, { accept }).head).status).toBe(200);
    },
  );

  it('GW-065 no Accept at all is served', async () => {
    const session = await harness.session();
    const headers = { ...session.headers, 'content-type': 'application/json' };
    const body = JSON.stringify(PING);
    expect((await send(harness.url(), { method: 'POST', headers, body })).status).toBe(200);
  });

  it('GW-065 only JSON or only SSE accepted gives just that', async () => {
    const session = await harness.session();
    for (const type of ['application/json', 'text/event-stream']) {
      const exchange = session.post(PING, { accept: type });
      expect((await exchange.head).headers['content-type']).toContain(type);
      expect((await exchange.answer(1)).result).toEqual({});
    }
  });

  it('a client that accepts only JSON gets the answer of a call with progress', async () => {
    const session = await harness.session();
    const { exchange, answer } = session.beginCall(
      'progress',
      { v: 'done' },
      { meta: { progressToken: 1 }, headers: { accept: 'application/json' } },
    );
    expect(textOf(await answer)).toBe('done');
    expect((await exchange.head).headers['content-type']).toMatch(/^application\/json/);
  });
});

describe('verbs and paths', () => {
  it.each(['PUT', 'PATCH'])('GW-070 %s gets 405 with Allow', async (method) => {
    const response = await send(harness.url(), { method, headers: POST_HEADERS, body: '{}' });
    expect(response.status).toBe(405);
    const allowed = String(response.headers['allow']).split(/, */).toSorted();
    expect(allowed).toEqual(['DELETE', 'GET', 'OPTIONS', 'POST']);
  });

  it('a trailing slash is ignored (trial 74)', async () => {
    const exchange = post(`${harness.url()}/`, initializeRequest());
    const { status, headers } = await exchange.response();
    expect(status).toBe(200);
    const sessionId = String(headers['mcp-session-id']);
    await send(harness.url(), { method: 'DELETE', headers: { 'mcp-session-id': sessionId } });
  });

  it('GET without a session is refused at once (trial 73)', async () => {
    for (const headers of [{}, { accept: 'text/event-stream' }]) {
      expect([400, 405, 406]).toContain((await send(harness.url(), { headers })).status);
    }
  });

  it('a call without the session it should send back gets a clear 400 (trial 83)', async () => {
    const response = await post(harness.url(), PING).response();
    expect(response.status).toBe(400);
    expect(response.text).toMatch(/session/i);
  });

  it('a path that does not exist names those that do', async () => {
    for (const path of ['/nowhere', '/servers/none/mcp', '/servers/one', '/mcp/mcp']) {
      const response = await send(`${harness.gateway.url}${path}`, {
        headers: { accept: 'text/event-stream' },
      });
      expect(response.status).toBe(404);
      if (path === '/nowhere') expect(response.text).toContain('/servers/one/mcp');
    }
  });

  it('the admin paths are not on the public listener', async () => {
    for (const path of ['/metrics', '/healthz', '/readyz']) {
      expect((await send(`${harness.gateway.url}${path}`)).status).toBe(404);
      expect((await send(`${harness.gateway.adminUrl}${path}`)).status).toBe(200);
    }
  });

  it.each(['//', 'http://[', '/%', '/servers/%00/mcp', '/servers/../../etc/passwd', '*'])(
    'the request target %s gets 4xx and harms nothing (trial 78)',
    async (target) => {
      const response = await send(harness.url(), { target });
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(response.status).toBeLessThan(500);
      expect((await (await harness.session()).request('ping')).result).toEqual({});
    },
  );

  it('a header of 64 KB gets 4xx (trial 78)', async () => {
    const exchange = new HttpExchange(harness.url(), { headers: { 'x-long': 'x'.repeat(65_536) } });
    expect((await exchange.head).status).toBe(431);
    expect((await (await harness.session()).request('ping')).result).toEqual({});
  });

  it('bytes that are no HTTP get 400 (trial 78)', async () => {
    const answer = await exchangeRaw(harness.url(), '\x16\x03\x01 what\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
  });
});

describe('bodies', () => {
  it('of 150 KB are served (trial 59)', async () => {
    const session = await harness.session();
    const args = { s: 'x'.repeat(150_000) };
    expect(textOf(await session.call('echo', args))).toBe(JSON.stringify(args));
  });

  it('over the limit get 413 with a JSON-RPC body, declared or not (trial 59)', async () => {
    const session = await harness.session();
    const body = JSON.stringify({ ...PING, params: { s: 'x'.repeat(1_100_000) } });
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
      const response = await session.post(body, headers).response();
      expect(response.status).toBe(413);
      expect(response.json()).toMatchObject({ jsonrpc: '2.0', error: {} });
    }
    expect((await session.request('ping')).result).toEqual({});
  });
});

describe('the modern era on the same URL', () => {
  const claim: Json = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const modern = (session: LegacySession): HttpExchange =>
    session.post(
      { jsonrpc: '2.0', id: 'm', method: 'tools/list', params: { _meta: claim } },
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' },
    );

  it('GW-069 a request with a claim leaves the session as it was', async () => {
    const session = await harness.session();
    const exchange = modern(session);
    await exchange.response();
    expect(exchange.messages.all.map(({ id }) => id)).toEqual(['m']);
    expect(textOf(await session.call('echo', { a: 1 }))).toBe('{"a":1}');
  });

  it('GW-069 a request with a claim is served statelessly', async () => {
    const session = await harness.session();
    const exchange = modern(session);
    const response = await exchange.response();
    expect(response.status).toBe(200);
    expect(response.headers['mcp-session-id']).toBeUndefined();
    const [answer] = exchange.messages.all;
    expect(answer?.result).toMatchObject({ resultType: 'complete' });
  });
});
