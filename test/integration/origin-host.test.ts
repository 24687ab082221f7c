/**
 * What protects a gateway on loopback from web pages: the checks of Origin and Host on every verb and
 * transport, and CORS for the origins that are allowed.
 */
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { HttpExchange, POST_HEADERS, send } from '../support/http-client.ts';
import { initializeRequest, type LegacySession } from '../support/legacy-session.ts';
import { exchangeRaw } from '../support/raw-socket.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { SseClient } from '../support/sse-client.ts';
import { until } from '../support/until.ts';
import { useScripted } from '../support/use-gateway.ts';
import { UpgradeRefused, WsClient } from '../support/ws-client.ts';

const ALLOWED = 'https://app.example';
const { harness, journal } = useScripted(scriptedServer(), {
  listen: { allowedOrigins: [ALLOWED], allowedHosts: ['gateway.example'] },
});

type Headers = Readonly<Record<string, string>>;

const BODY = JSON.stringify(initializeRequest());
const port = (): string => new URL(harness.gateway.url).port;

/** The status of each way in, given extra headers. Whatever it opens is closed again. */
async function statuses(extra: Headers, session: LegacySession): Promise<Record<string, number>> {
  const headers = { ...POST_HEADERS, ...session.headers, ...extra };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
  const posted = await send(harness.url(), { method: 'POST', headers, body });
  const stream = new HttpExchange(harness.url(), {
    headers: { ...headers, accept: 'text/event-stream' },
  });
  const sse = new HttpExchange(harness.gateway.endpoint('one', 'sse'), {
    headers: { accept: 'text/event-stream', ...extra },
  });
  const found = {
    post: posted.status,
    get: (await stream.head).status,
    sse: (await sse.head).status,
    ws: await upgradeStatus(extra),
    delete: (await send(harness.url(), { method: 'DELETE', headers })).status,
  };
  for (const exchange of [stream, sse]) exchange.destroy();
  return found;
}

async function upgradeStatus(headers: Headers): Promise<number> {
  try {
    const client = await WsClient.connect(harness.gateway.endpoint('one', 'ws'), { headers });
    await client.close();
    return 101;
  } catch (error) {
    if (error instanceof UpgradeRefused) return error.status;
    throw error;
  }
}

const SERVED = { post: 200, get: 200, sse: 200, ws: 101, delete: 200 };

describe('Origin', () => {
  it.each([
    'http://evil.example',
    'https://evil.example',
    'null',
    'https://app.example.evil.example',
    'http://app.example',
    'https://app.example:444',
    'not an origin',
  ])('GW-066 %s gets 403 everywhere', async (origin) => {
    const session = await harness.session();
    expect(await statuses({ origin }, session)).toEqual({
      post: 403,
      get: 403,
      sse: 403,
      ws: 403,
      delete: 403,
    });
    // The DELETE was refused, so the session lives.
    expect((await session.request('ping')).result).toEqual({});
  });

  it('GW-066 a foreign one gets 403 on initialize, and no session', async () => {
    const before = journal.messages().length;
    const headers = { ...POST_HEADERS, origin: 'http://evil.example' };
    const response = await send(harness.url(), { method: 'POST', headers, body: BODY });
    expect(response.status).toBe(403);
    expect(response.headers['mcp-session-id']).toBeUndefined();
    expect(response.headers['access-control-allow-origin']).toBeUndefined();
    expect(journal.messages()).toHaveLength(before);
  });

  it('GW-066 a foreign one gets 403 on the messages path of HTTP+SSE', async () => {
    const client = harness.track(await SseClient.open(harness.gateway.endpoint('one', 'sse')));
    const headers = { 'content-type': 'application/json', origin: 'http://evil.example' };
    const response = await send(client.postUrl, { method: 'POST', headers, body: BODY });
    expect(response.status).toBe(403);
  });

  it('GW-066 none at all is served', async () => {
    expect(await statuses({}, await harness.session())).toEqual(SERVED);
  });

  it('GW-066 a foreign one is named to its page and in the log, with what to do', async () => {
    const headers = { ...POST_HEADERS, origin: 'http://evil.example:81' };
    const answer = await send(harness.url(), { method: 'POST', headers, body: BODY });
    const message =
      'Origin "http://evil.example:81" is not allowed; add it to listen.allowedOrigins if it should be.';
    expect(answer.json()).toMatchObject({ error: { code: -32000, message } });
    await harness.gateway.waitForLog(
      ({ level, msg, why }) =>
        level === 'warn' &&
        msg === 'a request was refused for its Host or Origin' &&
        String(why).includes('listen.allowedOrigins'),
    );
  });

  it.each(['cross-site', 'same-site', 'Cross-Site'])(
    'a page of another origin that sends none (%s) gets 403 everywhere',
    async (site) => {
      const session = await harness.session();
      const found = Object.values(await statuses({ 'sec-fetch-site': site }, session));
      expect(new Set(found)).toEqual(new Set([403]));
      expect((await session.request('ping')).result).toEqual({});
    },
  );

  it.each([
    ['its own page', { 'sec-fetch-site': 'same-origin' }],
    ['no page at all', { 'sec-fetch-site': 'none' }],
    ['a page of an allowed origin', { 'sec-fetch-site': 'cross-site', origin: ALLOWED }],
  ])('%s is served', async (_, headers) => {
    expect(await statuses(headers, await harness.session())).toEqual(SERVED);
  });

  it('GW-066 a configured one is served', async () => {
    expect(await statuses({ origin: ALLOWED }, await harness.session())).toEqual(SERVED);
  });
});

describe('A04 CORS', () => {
  const preflight = (origin: string): ReturnType<typeof send> =>
    send(harness.url(), {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type, mcp-session-id, mcp-param-x',
      },
    });

  it('answers a preflight of an allowed origin', async () => {
    const { status, headers } = await preflight(ALLOWED);
    expect([200, 204]).toContain(status);
    expect(headers['access-control-allow-origin']).toBe(ALLOWED);
    const allowed = String(headers['access-control-allow-headers']).toLowerCase();
    for (const name of ['content-type', 'mcp-session-id', 'mcp-param-x']) {
      expect(allowed).toContain(name);
    }
    expect(headers['access-control-allow-methods']).toMatch(/POST/);
    expect(headers['access-control-allow-methods']).toMatch(/DELETE/);
  });

  it('lets an allowed origin read the session id', async () => {
    const session = await harness.session({ headers: { origin: ALLOWED } });
    const { headers } = await session.begin('ping').exchange.response();
    expect(headers['access-control-allow-origin']).toBe(ALLOWED);
    expect(String(headers['access-control-expose-headers']).toLowerCase()).toContain(
      'mcp-session-id',
    );
    expect(headers['vary']).toMatch(/origin/i);
  });

  it('refuses a preflight of a foreign origin', async () => {
    const { status, headers } = await preflight('http://evil.example');
    expect(status).toBe(403);
    expect(headers['access-control-allow-origin']).toBeUndefined();
  });
});

describe('A01 Host', () => {
  it.each(['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', 'evil.example:80'])(
    'GW-067 %j gets 4xx everywhere',
    async (host) => {
      const session = await harness.session();
      for (const status of Object.values(await statuses({ host }, session))) {
        expect(status).toBeGreaterThanOrEqual(400);
        expect(status).toBeLessThan(500);
      }
      expect((await session.request('ping')).result).toEqual({});
    },
  );

  it('GW-067 a foreign one with the same Origin gets 4xx (trial 80)', async () => {
    const headers = { ...POST_HEADERS, host: 'evil.example', origin: 'http://evil.example' };
    const response = await send(harness.url(), { method: 'POST', headers, body: BODY });
    expect(response.status).toBe(403);
  });

  it.each(['localhost', '127.0.0.1', '[::1]'])(
    'GW-067 %s with the port is served',
    async (name) => {
      const host = `${name}:${port()}`;
      expect(await statuses({ host }, await harness.session())).toEqual(SERVED);
    },
  );

  it('GW-067 a configured one is served', async () => {
    expect(await statuses({ host: 'gateway.example' }, await harness.session())).toEqual(SERVED);
  });

  it.each([
    ['an empty one', 'Host: \r\n', '/servers/one/mcp'],
    ['none', '', '/servers/one/mcp'],
    ['two', 'Host: 127.0.0.1\r\nHost: evil.example\r\n', '/servers/one/mcp'],
    [
      'one that the request target contradicts',
      'Host: 127.0.0.1\r\n',
      'http://evil.example/servers/one/mcp',
    ],
    ['one with a port that is none', 'Host: 127.0.0.1:99999\r\n', '/servers/one/mcp'],
  ])('GW-067 %s gets 400', async (_name, host, target) => {
    const answer = await exchangeRaw(
      harness.url(),
      `POST ${target} HTTP/1.1\r\n${host}Content-Type: application/json\r\n` +
        `Connection: close\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('GW-067 is checked on the admin listener too', async () => {
    const headers = { host: 'evil.example' };
    const { status } = await send(`${harness.gateway.adminUrl}/metrics`, { headers });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
  });
});

describe('a head that says', () => {
  const ping = JSON.stringify({ jsonrpc: '2.0', id: 'p', method: 'ping' });
  const post = async (version: string, headers: string, body = ping): Promise<string> => {
    const session = await harness.session();
    const own = Object.entries({ ...POST_HEADERS, ...session.headers });
    const lines = own.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    const head = `POST /servers/one/mcp HTTP/${version}\r\nHost: 127.0.0.1\r\n${lines}`;
    return await exchangeRaw(harness.url(), `${head}${headers}\r\n${body}`);
  };
  const length = `Content-Length: ${ping.length}\r\n`;

  it.each(['2.0', '0.9'])('another version of HTTP (%s) gets 505 and the end', async (version) => {
    expect(await post(version, length)).toMatch(/^HTTP\/1\.1 505 /);
  });

  it.each(['gzip, chunked', 'chunked, chunked'])(
    'another coding of the body (%s) gets 501 and the end',
    async (coding) => {
      const body = `${ping.length.toString(16)}\r\n${ping}\r\n0\r\n\r\n`;
      const answer = await post('1.1', `Transfer-Encoding: ${coding}\r\n`, body);
      expect(answer).toMatch(/^HTTP\/1\.1 (?:501|400) /);
    },
  );

  it.each([
    ['h2c', 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n'],
    ['websockets of another kind', 'Connection: Upgrade\r\nUpgrade: websocket2\r\n'],
  ])('an upgrade to %s is served as if it said nothing of it', async (_, upgrade) => {
    const { hostname, port: number } = new URL(harness.url());
    const session = await harness.session();
    const own = Object.entries({ ...POST_HEADERS, ...session.headers });
    const lines = own.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    const head = `POST /servers/one/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines}${upgrade}${length}`;
    const socket = connect(Number(number), hostname);
    let received = '';
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
    });
    socket.write(`${head}\r\n${ping}`);
    await until(() => received.includes('"id":"p"'));
    expect(received).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });
});
