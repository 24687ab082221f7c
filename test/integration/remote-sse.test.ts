// Remote servers over HTTP+SSE, found out or configured, and what they may not do.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EverythingServer } from '../support/everything-server.ts';
import { type Gateway, type GatewayOptions, startGateway } from '../support/gateway.ts';
import { LegacySession } from '../support/legacy-session.ts';
import { type RemoteRequest, RemoteServer, sendStream } from '../support/remote-server.ts';
import { until } from '../support/until.ts';
import { textOf } from '../support/wire-message.ts';

const TEXT = { 'content-type': 'text/plain' };

let server: RemoteServer;
let gateway: Gateway | undefined;
/** Event streams that are open at the server. */
let streams: RemoteRequest[];
/** What the endpoint event says. */
let endpoint: string;
/** How a POST to the address itself is answered. */
let postStatus: number;

beforeEach(async () => {
  server = await RemoteServer.start();
  streams = [];
  endpoint = '/messages?sessionId=s1';
  postStatus = 405;
  server.takeover = (request) => {
    const { method, path, message, response } = request;
    if (method === 'GET') {
      sendStream(response);
      response.write(`event: endpoint\ndata: ${endpoint}\n\n`);
      streams.push(request);
    } else if (path === '/mcp') {
      response.writeHead(postStatus, TEXT).end('no');
    } else {
      response.writeHead(202, TEXT).end('Accepted');
      answer(message.method, message.id);
    }
    return true;
  };
});

afterEach(async () => {
  if (gateway !== undefined) expect((await gateway.stop()).code).toBe(0);
  gateway = undefined;
  await server.close();
});

function answer(method: string | undefined, id: number | string | undefined): void {
  const results: Record<string, unknown> = {
    initialize: { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo: {} },
    'tools/call': { content: [{ type: 'text', text: 'over sse' }] },
    'tools/list': { tools: [] },
    ping: {},
  };
  const result = method === undefined ? undefined : results[method];
  if (id === undefined || result === undefined) return;
  const text = JSON.stringify({ jsonrpc: '2.0', id, result });
  streams.at(-1)?.response.write(`event: message\ndata: ${text}\n\n`);
}

async function start(
  config: Readonly<Record<string, unknown>> = {},
  options: Partial<GatewayOptions> = {},
): Promise<Gateway> {
  gateway = await startGateway({ ...options, servers: { one: { url: server.url, ...config } } });
  return gateway;
}

async function callOnce(): Promise<string | undefined> {
  const session = await LegacySession.open(String(gateway?.endpoint('one')));
  try {
    return textOf(await session.call('echo'));
  } finally {
    await session.close();
  }
}

it.each([400, 404, 405])(
  'GW-145 a server that answers POST with %i is asked with GET',
  async (status) => {
    postStatus = status;
    await start();
    expect(await callOnce()).toBe('over sse');
    const { path, headers } = await server.post('tools/call');
    expect(path).toBe('/messages?sessionId=s1');
    expect(headers['mcp-protocol-version']).toBeUndefined();
  },
);

it('is not asked in another way when that is configured', async () => {
  await start({ transport: 'sse', headers: { Authorization: 'Bearer own' } });
  expect(await callOnce()).toBe('over sse');
  expect(
    server.requests.filter(({ path, method }) => method === 'POST' && path === '/mcp'),
  ).toEqual([]);
  for (const { headers } of server.requests) expect(headers.authorization).toBe('Bearer own');
});

it.each([401, 403, 500, 503])(
  'GW-143 HTTP %i says nothing of era and transport',
  async (status) => {
    postStatus = status;
    await start({ timeouts: { start: '1s' } }, { waitReady: false });
    const { reason } = await gatewayLog('server ended, it is started again');
    expect(reason).toContain(`HTTP ${status}`);
    expect(server.posts('initialize')).toEqual([]);
    expect(streams).toEqual([]);
  },
);

it.each([
  'http://127.0.0.1:9/messages',
  'https://evil.example/messages',
  'javascript:alert(1)',
  'file:///etc/passwd',
  '//evil.example/x',
])('D09 the endpoint %s is refused', async (address) => {
  endpoint = address;
  await start({ transport: 'sse', timeouts: { start: '1s' } }, { waitReady: false });
  const { reason } = await gatewayLog('server ended, it is started again');
  expect(reason).toContain('another origin');
  expect(server.posts('initialize')).toEqual([]);
});

it('D09 an endpoint with a user name is refused', async () => {
  endpoint = `http://user:pass@127.0.0.1:${server.port}/messages`;
  await start({ transport: 'sse', timeouts: { start: '1s' } }, { waitReady: false });
  expect((await gatewayLog('server ended, it is started again'))['reason']).toContain('origin');
});

it.each(['messages', './messages', '?x=1'])(
  'D09 the relative endpoint %s is taken',
  async (address) => {
    endpoint = address === '?x=1' ? '/other?x=1' : address;
    await start({ transport: 'sse' });
    expect(await callOnce()).toBe('over sse');
  },
);

it('a stream that ends fails its calls, and is opened again', async () => {
  const { takeover } = server;
  await start({ transport: 'sse' });
  server.takeover = (request) => {
    if (request.message.method !== 'tools/call') return takeover(request);
    request.response.writeHead(202).end();
    streams.at(-1)?.response.end();
    return true;
  };
  const session = await LegacySession.open(String(gateway?.endpoint('one')));
  const { error } = await session.call('echo');
  expect(error).toMatchObject({
    code: -32603,
    data: { reason: 'server_exited', outcome: 'unknown' },
  });
  server.takeover = takeover;
  await until(() => streams.length === 2);
  expect(textOf(await session.call('echo'))).toBe('over sse');
  await session.close();
});

it.each([
  [404, 'Could not find session'],
  [400, 'No transport found for sessionId'],
  [500, 'SSE connection not established'],
])('a call that is refused with %i and "%s" goes to the next stream', async (status, text) => {
  const { takeover } = server;
  await start({ transport: 'sse' });
  const session = await LegacySession.open(String(gateway?.endpoint('one')));
  server.takeover = (request) => {
    if (request.message.method !== 'tools/call' || streams.length > 1) return takeover(request);
    request.response.writeHead(status, TEXT).end(text);
    return true;
  };
  const calls = await Promise.all([session.call('echo'), session.call('echo')]);
  expect(calls.map((call) => textOf(call))).toEqual(['over sse', 'over sse']);
  // One of them may have come when the stream was known to be lost.
  const refused = server.posts('tools/call').length - calls.length;
  expect([1, 2]).toContain(refused);
  await session.close();
});

it('a POST that is refused fails its call only', async () => {
  const { takeover } = server;
  await start({ transport: 'sse' });
  const session = await LegacySession.open(String(gateway?.endpoint('one')));
  server.takeover = (request) => {
    if (request.message.method !== 'tools/call') return takeover(request);
    request.response.writeHead(500).end();
    return true;
  };
  const { error } = await session.call('echo');
  expect(error).toMatchObject({ code: -32603, data: { reason: 'server_unavailable' } });
  server.takeover = takeover;
  expect(textOf(await session.call('echo'))).toBe('over sse');
  expect(streams).toHaveLength(1);
  await session.close();
});

it('server-everything is used over both transports', async () => {
  const [http, sse] = await Promise.all([
    EverythingServer.start('streamableHttp'),
    EverythingServer.start('sse'),
  ]);
  try {
    gateway = await startGateway({ servers: { http: { url: http.url }, sse: { url: sse.url } } });
    for (const name of ['http', 'sse']) {
      const session = await LegacySession.open(gateway.endpoint(name), {
        capabilities: { sampling: {} },
      });
      const sum = await session.call('get-sum', { a: 2, b: 3 });
      expect(textOf(sum)).toContain('The sum of 2 and 3 is 5.');
      const sampling = session.beginCall('trigger-sampling-request', {
        prompt: 'x',
        maxTokens: 10,
      });
      const serverRequest = await sampling.exchange.messages.next(
        ({ method }) => method === 'sampling/createMessage',
      );
      const content = { type: 'text', text: 'sampled' };
      await session.respond(serverRequest.id, { role: 'assistant', content, model: 'm' });
      expect(textOf(await sampling.answer)).toContain('sampled');
      await session.close();
    }
    await gateway.stop();
    gateway = undefined;
  } finally {
    await Promise.all([http.close(), sse.close()]);
  }
});

async function gatewayLog(message: string): Promise<Readonly<Record<string, unknown>>> {
  if (gateway === undefined) throw new Error('no gateway');
  return await gateway.waitForLog((line) => line['msg'] === message);
}
