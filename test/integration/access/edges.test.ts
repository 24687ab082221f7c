/**
 * What is refused on the wire before anybody is asked who it is: headers that come twice, other types and
 * codings of bodies, too much of them at once, addresses that send too much.
 */
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { POST_HEADERS, post, send } from '../../support/http-client.ts';
import { initializeRequest } from '../../support/legacy-session.ts';
import { ModernClient } from '../../support/modern-client.ts';
import { exchangeRaw } from '../../support/raw-socket.ts';
import { scriptedServer } from '../../support/scripted-server.ts';
import { until, within } from '../../support/until.ts';
import { useGateway, useScripted } from '../../support/use-gateway.ts';

const ALLOWED = 'https://app.example';
const PATH = '/servers/one/mcp';
const BODY = JSON.stringify(initializeRequest());
const TYPE = 'Content-Type: application/json\r\n';

const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);

/** A POST written by hand. */
function raw(headers: string, body = BODY): string {
  const length = `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  return `POST ${PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n${headers}${length}\r\n${body}`;
}

describe('a request', () => {
  const { harness, journal } = useScripted(scriptedServer(), {
    listen: { allowedOrigins: [ALLOWED] },
    config: { limits: { bodyBytes: '1MiB' } },
  });
  const status = async (text: string): Promise<number> =>
    statusOf(await exchangeRaw(harness.gateway.url, text));

  it.each([
    'Authorization: Bearer a\r\nAuthorization: Bearer b\r\n',
    'authorization: x\r\nAUTHORIZATION: x\r\n',
  ])('A07 two Authorization headers are refused: %j', async (twice) => {
    expect(await status(raw(TYPE + twice))).toBe(400);
  });

  it.each([
    `Origin: http://evil.example\r\nOrigin: ${ALLOWED}\r\n`,
    `Origin: ${ALLOWED}\r\nOrigin: http://evil.example\r\n`,
    `Origin: ${ALLOWED}\r\norigin: ${ALLOWED}\r\n`,
  ])('GW-066 A02 two Origin headers are refused: %j', async (twice) => {
    expect(await status(raw(TYPE + twice))).toBe(403);
  });

  it('A07 an upgrade of another target than a path is refused', async () => {
    const upgrade =
      'Host: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
    const target = 'http://evil.example/servers/one/ws';
    expect(await status(`GET ${target} HTTP/1.1\r\n${upgrade}`)).toBe(400);
  });

  it.each(['/SERVERS/one/mcp', '//servers/one/mcp', '/servers//one/mcp', '/servers/%6fne/mcp'])(
    'A08 %s is another path',
    async (target) => {
      const options = { method: 'POST', headers: POST_HEADERS, body: BODY, target };
      expect((await send(harness.gateway.url, options)).status).toBe(404);
    },
  );

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json;charset=utf-16',
    'application/json\t;x',
    'application/json; x=1',
    'application/json, text/plain',
    'application/jsonx',
  ])('A03 the type %j is refused', async (type) => {
    const before = journal.messages().length;
    expect(await status(raw(`Content-Type: ${type}\r\n`))).toBe(415);
    expect(journal.messages()).toHaveLength(before);
  });

  it('A03 two Content-Type headers are refused', async () => {
    expect(await status(raw(`${TYPE}Content-Type: text/plain\r\n`))).toBe(415);
    expect(await status(raw(TYPE + TYPE))).toBe(415);
  });

  it.each(['gzip', 'br', 'zstd', 'identity', ''])(
    'C08 a body with the encoding %j is refused',
    async (encoding) => {
      expect(await status(raw(`${TYPE}Content-Encoding: ${encoding}\r\n`))).toBe(415);
    },
  );

  it.each([
    ['a length and chunks', 'Transfer-Encoding: chunked\r\n'],
    ['two lengths', 'Content-Length: 3\r\n'],
    ['a length with a sign', 'Content-Length: +3\r\n'],
    ['chunks and something else', 'Transfer-Encoding: chunked, identity\r\n'],
    ['a NUL in a header', 'X-A: a\0b\r\n'],
    ['a line that begins with a blank', 'X-A: a\r\n b: c\r\n: d\r\n'],
    ['a header without a name', ': a\r\n'],
    ['a blank behind a name', 'X-A : a\r\n'],
    ['a lone line feed', 'X-A: a\n\rX-B: b\r\n'],
  ])('A09 %s get 400, and the connection ends', async (_, headers) => {
    const before = journal.messages().length;
    expect(await status(raw(TYPE + headers))).toBe(400);
    expect(journal.messages()).toHaveLength(before);
  });

  it('A10 names that objects have are names like any other', async () => {
    const session = await harness.session();
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      const id = await session.call(
        'echo',
        { [name]: name },
        { id: name, headers: { [name]: 'x' } },
      );
      expect(id).toMatchObject({ id: name, result: {} });
      const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
      const named = { 'mcp-session-id': name };
      expect((await post(harness.url(), ping, named).head).status).toBe(404);
      expect((await post(`${harness.url()}?${name}=x`, ping).head).status).toBe(400);
      expect((await post(harness.gateway.endpoint(name), ping).head).status).toBe(404);
    }
  });

  it('C08 a WebSocket is never compressed, whatever its client offers', async () => {
    const ws = await harness.webSocket();
    expect(ws.socket.extensions).toBe('');
  });

  it('C15 a body that is no UTF-8 is refused', async () => {
    const [head = '', tail = ''] = BODY.split('test-client');
    const body = Buffer.concat([Buffer.from(head), Buffer.from([0xc3, 0x28]), Buffer.from(tail)]);
    const response = await post(harness.url(), body).response();
    expect(response.status).toBe(400);
    expect(response.json()).toMatchObject({ error: { code: -32_700 } });
  });

  it('C06 a batch of 101 is refused', async () => {
    const session = await harness.session({ version: '2025-03-26' });
    const batch = (length: number): object[] =>
      Array.from({ length }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }));
    expect((await session.post(batch(101)).response()).status).toBe(400);
    expect((await session.post(batch(100)).response()).status).toBe(200);
  });

  it('C06 bodies that are too many at once get 503, small ones and later ones do not', async () => {
    const large = 'Content-Length: 800000\r\n';
    const head = `POST ${PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\n${TYPE}${large}`;
    const slow = await accepted(harness.gateway.url, `${head}Expect: 100-continue\r\n\r\n`);
    expect(await status(`${head}Connection: close\r\n\r\n`)).toBe(503);
    expect((await post(harness.url(), { jsonrpc: '2.0', id: 1, method: 'ping' }).head).status).toBe(
      400,
    );
    slow.destroy();
    const padded = `{"jsonrpc":"2.0","id":1,"method":"ping"}${' '.repeat(800_000)}`;
    await until(async () => (await post(harness.url(), padded).head).status === 400);
  });
});

describe('an address', () => {
  const { harness } = useScripted(scriptedServer(), {
    config: { limits: { addressRequestsPerSecond: 5 } },
  });

  it('G10 an address may send so many requests a second, then gets 429', async () => {
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const heads = await Promise.all(
      Array.from({ length: 40 }, () => post(harness.url(), ping).head),
    );
    expect(new Set(heads.map(({ status }) => status))).toEqual(new Set([400, 429]));
    const refused = heads.find(({ status }) => status === 429);
    expect(refused?.headers['retry-after']).toBeDefined();
    await until(async () => (await post(harness.url(), ping).head).status === 400);
  });
});

describe('a remote server that is not there', () => {
  const secret = 'hidden-path';
  const harness = useGateway(() => ({
    servers: {
      lost: { url: `http://127.0.0.1:9/${secret}`, transport: 'streamable-http' },
    },
    waitReady: false,
  }));

  it('H05 tells clients nothing of where it is', async () => {
    const answer = await new ModernClient(harness.url('lost')).request('tools/list');
    expect(answer.error).toMatchObject({ data: { reason: 'server_unavailable' } });
    for (const text of [secret, '127.0.0.1', '.ts', 'node_modules']) {
      expect(answer.raw).not.toContain(text);
    }
  });
});

/** A connection whose request was taken in, and whose body is still to come. */
async function accepted(url: string, text: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname, () => socket.write(text));
  const isTaken = new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.once('data', (data) => {
      if (data.toString('latin1').includes('100 Continue')) resolve();
      else reject(new Error(data.toString('latin1')));
    });
  });
  await within(isTaken, 10_000, '100 Continue');
  return socket;
}
