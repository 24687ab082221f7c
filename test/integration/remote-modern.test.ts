// Remote servers of the stateless era: headers that repeat the message, tools whose headers are wrong,
// cancelling by letting go, subscriptions; for clients of both eras.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { post } from '../support/http-client.ts';
import { LegacySession } from '../support/legacy-session.ts';
import { enveloped } from '../support/modern-envelope.ts';
import {
  eventOf,
  type RemoteRequest,
  RemoteServer,
  sendJson,
  sendStream,
} from '../support/remote-server.ts';
import { until } from '../support/until.ts';
import { hasMethod, type Json } from '../support/wire-message.ts';
import { WsClient } from '../support/ws-client.ts';

const ROUTED = {
  name: 'routed',
  inputSchema: {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      deep: { type: 'object', properties: { n: { type: 'integer', 'x-mcp-header': 'N' } } },
      flag: { type: 'boolean', 'x-mcp-header': 'Flag' },
    },
  },
};
const TOOLS: readonly Json[] = [
  { name: 'echo', inputSchema: { type: 'object' } },
  ROUTED,
  ...[
    { type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } },
    { type: 'number', 'x-mcp-header': 'A' },
    { type: 'string', 'x-mcp-header': 'not a token' },
    { type: 'string', 'x-mcp-header': '' },
    { oneOf: [{ type: 'string', 'x-mcp-header': 'A' }] },
  ].map((value, i) => ({
    name: `bad${i}`,
    inputSchema: { type: 'object', properties: { value } },
  })),
  {
    name: 'twice',
    inputSchema: {
      type: 'object',
      properties: {
        a: { type: 'string', 'x-mcp-header': 'Same' },
        b: { type: 'string', 'x-mcp-header': 'same' },
      },
    },
  },
];

let server: RemoteServer;
let gateway: Gateway;

beforeAll(async () => {
  server = await RemoteServer.start({ era: 'modern', tools: TOOLS });
  gateway = await startGateway({
    servers: { one: { url: server.url, headers: { Authorization: 'Bearer own' } } },
  });
});

beforeEach(() => {
  server.takeover = () => false;
  server.requests.length = 0;
});

afterAll(async () => {
  await gateway.stop();
  await server.close();
});

/** A request of a modern client. */
function modern(
  method: string,
  params: Json = {},
  headers: Readonly<Record<string, string>> = {},
): ReturnType<typeof post> {
  const name = params['name'] ?? params['uri'];
  const value = typeof name === 'string' && /^[\x20-\x7e]+$/.test(name) ? name : undefined;
  const encoded = typeof name === 'string' ? Buffer.from(name).toString('base64') : '';
  return post(
    gateway.endpoint('one'),
    { jsonrpc: '2.0', id: 'c', method, params: enveloped(params) },
    {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(name === undefined ? {} : { 'mcp-name': value ?? `=?base64?${encoded}?=` }),
      ...headers,
    },
  );
}

async function answerOf(exchange: ReturnType<typeof post>): Promise<Json> {
  return (await exchange.response()).json() as Json;
}

async function withLegacy(use: (session: LegacySession) => Promise<void>): Promise<void> {
  const session = await LegacySession.open(gateway.endpoint('one'));
  try {
    await use(session);
  } finally {
    await session.close();
  }
}

/** The headers that repeat a message. */
function mirrored({ headers }: RemoteRequest): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('mcp-')));
}

test.each(['tools/call\r\nX-Other: 1', 'tools/call\n', 'tools/caⓛl', 'tools/call\u0085'])(
  'a method that no header takes is the fault of its client, of either era: %j',
  async (method) => {
    const error = { code: -32600, message: expect.stringContaining('method') };
    await withLegacy(async (session) => {
      expect((await session.request(method, { name: 'echo' })).error).toMatchObject(error);
    });
    const claimed = modern(method, { name: 'echo' }, { 'mcp-method': 'tools/call' });
    expect((await claimed.response()).status).toBe(400);
    const client = await WsClient.connect(gateway.endpoint('one', 'ws'));
    try {
      const answer = await client.request(method, enveloped({ name: 'echo' }));
      expect(answer.error).toMatchObject(error);
    } finally {
      await client.close();
    }
    expect(server.requests.filter(({ message }) => message.method === method)).toEqual([]);
  },
);

test('no session is opened, and nothing but what is enveloped is sent', async () => {
  await withLegacy(async (session) => {
    await session.call('echo', { a: 1 });
    await session.request('tools/list');
  });
  expect(server.posts('initialize')).toEqual([]);
  for (const request of server.requests) {
    expect(request.method).toBe('POST');
    expect(request.headers).toMatchObject({
      accept: 'application/json, text/event-stream',
      'mcp-method': request.message.method,
      'mcp-protocol-version': '2026-07-28',
      authorization: 'Bearer own',
    });
    expect(request.headers['mcp-session-id']).toBeUndefined();
    const meta = request.message.params?.['_meta'] as Json;
    expect(meta['io.modelcontextprotocol/protocolVersion']).toBe('2026-07-28');
  }
});

test('C16 GW-135 the headers are computed from the message', async () => {
  await answerOf(modern('tools/list'));
  const args = { region: 'süd', deep: { n: 42 }, flag: true };
  const encoded = `=?base64?${Buffer.from('süd').toString('base64')}?=`;
  const forged = {
    'mcp-param-region': encoded,
    'mcp-param-n': '42',
    'mcp-param-flag': 'true',
    'mcp-param-other': 'forged',
    'x-client': 'c',
  };
  const { result } = await answerOf(
    modern('tools/call', { name: 'routed', arguments: args }, forged),
  );
  expect(result).toBeDefined();
  const call = await server.post('tools/call');
  expect(mirrored(call)).toEqual({
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'routed',
    'mcp-param-region': encoded,
    'mcp-param-n': '42',
    'mcp-param-flag': 'true',
  });
  expect(call.headers['x-client']).toBeUndefined();
  await withLegacy(async (session) => {
    await session.call('routed', { region: 'eu', flag: null });
    await session.request('resources/read', { uri: 'file:///ü' });
  });
  expect(mirrored(await server.post('tools/call', 2))).toMatchObject({ 'mcp-param-region': 'eu' });
  expect(mirrored(await server.post('tools/call', 2))).not.toHaveProperty('mcp-param-flag');
  expect(mirrored(await server.post('resources/read'))).toMatchObject({
    'mcp-name': `=?base64?${Buffer.from('file:///ü').toString('base64')}?=`,
  });
});

test('GW-136 tools whose annotations are wrong are not listed', async () => {
  const { result } = await answerOf(modern('tools/list'));
  const names = (result as { tools: Json[] }).tools.map(({ name }) => name);
  expect(names).toEqual(['echo', 'routed']);
  expect(JSON.stringify(result)).toContain(JSON.stringify(ROUTED.inputSchema));
});

test('GW-137 a header mismatch makes the tools be listed again, and the call be sent again', async () => {
  server.takeover = ({ message, headers, response }) => {
    if (message.method !== 'tools/call' || headers['mcp-param-zone'] === 'z') return false;
    const error = { code: -32020, message: 'Header mismatch' };
    sendJson(response, 400, { jsonrpc: '2.0', id: message.id, error });
    return true;
  };
  server.tools = [
    {
      name: 'echo',
      inputSchema: {
        type: 'object',
        properties: { zone: { type: 'string', 'x-mcp-header': 'Zone' } },
      },
    },
  ];
  await withLegacy(async (session) => {
    expect((await session.call('echo', { zone: 'z' })).result).toBeDefined();
    expect(server.posts('tools/call')).toHaveLength(2);
    expect(server.posts('tools/list')).toHaveLength(1);
    // Once: a server that refuses it still is not asked for ever.
    const { error } = await session.call('echo', { zone: 'other' });
    expect(error?.['code']).not.toBe(-32020);
    expect(server.posts('tools/call')).toHaveLength(4);
  });
  server.tools = TOOLS;
  await answerOf(modern('tools/list'));
});

test('a cancelled call is let go, and no message says so', async () => {
  const closed: unknown[] = [];
  server.takeover = ({ message, response }) => {
    if (message.method !== 'tools/call') return false;
    sendStream(response);
    response.on('close', () => closed.push(message.id));
    return true;
  };
  await withLegacy(async (session) => {
    const legacy = session.beginCall('echo');
    await server.post('tools/call');
    await session.cancel(legacy.id);
    await until(() => closed.length === 1);
  });
  const exchange = modern('tools/call', { name: 'echo', arguments: {} });
  await server.post('tools/call', 2);
  exchange.destroy();
  await until(() => closed.length === 2);
  expect(server.posts('notifications/cancelled')).toEqual([]);
  expect(server.posts('ping')).toEqual([]);
});

test('progress on the stream of a call reaches its caller', async () => {
  server.takeover = ({ message, response }) => {
    if (message.method !== 'tools/call') return false;
    sendStream(response);
    const meta = message.params?.['_meta'] as { progressToken: number };
    const params = { progressToken: meta.progressToken, progress: 1 };
    response.write(eventOf({ jsonrpc: '2.0', method: 'notifications/progress', params }));
    const result = { resultType: 'complete', content: [] };
    response.end(eventOf({ jsonrpc: '2.0', id: message.id, result }));
    return true;
  };
  await withLegacy(async (session) => {
    const call = session.beginCall('echo', {}, { meta: { progressToken: 'p' } });
    await call.answer;
    const progress = call.exchange.messages.all.find(
      ({ params }) => params?.['progressToken'] === 'p',
    );
    expect(progress?.params).toEqual({ progressToken: 'p', progress: 1 });
  });
});

test('GW-128 a log message is for the call on whose stream it comes', async () => {
  const calls: RemoteRequest[] = [];
  server.takeover = (request) => {
    if (request.message.method !== 'tools/call') return false;
    sendStream(request.response);
    calls.push(request);
    return true;
  };
  const finish = ({ message, response }: RemoteRequest, data: string): void => {
    const params = { level: 'error', data };
    response.write(eventOf({ jsonrpc: '2.0', method: 'notifications/message', params }));
    const result = { resultType: 'complete', content: [] };
    response.end(eventOf({ jsonrpc: '2.0', id: message.id, result }));
  };
  await withLegacy(async (one) => {
    await withLegacy(async (other) => {
      const pending = [];
      for (const session of [one, other]) {
        await session.request('logging/setLevel', { level: 'debug' });
        pending.push(session.beginCall('echo', {}));
        await until(() => calls.length === pending.length);
      }
      calls.forEach((call, at) => {
        finish(call, String(at));
      });
      for (const [at, { answer, exchange }] of pending.entries()) {
        await answer;
        const logs = exchange.messages.all.filter(hasMethod('notifications/message'));
        expect(logs.map(({ params }) => params?.['data'])).toEqual([String(at)]);
      }
    });
  });
});

test('a stream that ends without the answer fails the call, and reads are sent again', async () => {
  let cut = 0;
  server.takeover = ({ message, response }) => {
    const isCut =
      message.method === 'tools/call' || (message.method === 'tools/list' && cut++ === 0);
    if (!isCut) return false;
    sendStream(response);
    response.end('id: 1\ndata: \n\n');
    return true;
  };
  const { error } = await answerOf(modern('tools/call', { name: 'echo', arguments: {} }));
  expect(error).toMatchObject({
    code: -32603,
    data: { reason: 'server_exited', outcome: 'unknown' },
  });
  expect((await answerOf(modern('tools/list')))['result']).toBeDefined();
  expect(server.requests.filter(({ method }) => method !== 'POST')).toEqual([]);
});

test('a listen stream stays open, is opened again, and tells clients of both eras', async () => {
  const listens: RemoteRequest[] = [];
  const other = await RemoteServer.start({ era: 'modern' });
  other.takeover = (request) => {
    const { message, response } = request;
    const { method, id } = message;
    if (method === 'server/discover') {
      const capabilities = { tools: { listChanged: true } };
      const result = { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities };
      sendJson(response, 200, { jsonrpc: '2.0', id, result });
      return true;
    }
    if (method !== 'subscriptions/listen') return false;
    sendStream(response);
    const subscription = { 'io.modelcontextprotocol/subscriptionId': id };
    const { notifications } = message.params as { notifications: Json };
    const params = { notifications, _meta: subscription };
    const acknowledged = 'notifications/subscriptions/acknowledged';
    response.write(eventOf({ jsonrpc: '2.0', method: acknowledged, params }));
    listens.push(request);
    return true;
  };
  const own = await startGateway({ servers: { one: { url: other.url } } });
  try {
    const session = await LegacySession.open(own.endpoint('one'));
    const stream = session.openStream();
    await stream.head;
    for (const nth of [1, 2]) {
      const listen = await until(() => listens[nth - 1]);
      expect(mirrored(listen)).toMatchObject({ 'mcp-method': 'subscriptions/listen' });
      const _meta = { 'io.modelcontextprotocol/subscriptionId': listen.message.id };
      const method = 'notifications/tools/list_changed';
      listen.response.write(eventOf({ jsonrpc: '2.0', method, params: { _meta } }));
      await until(() => stream.messages.all.filter((one) => one.method === method).length === nth);
      if (nth === 1) listen.response.end();
    }
    await session.close();
    const gone = new Promise((resolve) => listens[1]?.response.once('close', resolve));
    expect((await own.stop()).code).toBe(0);
    await gone;
  } finally {
    if (own.isRunning) await own.stop();
    await other.close();
  }
});

test('GW-142 a server that only speaks other versions is not asked to initialize', async () => {
  const other = await RemoteServer.start({ era: 'modern' });
  other.takeover = ({ message, response }) => {
    const data = { supported: ['2099-01-01'], requested: '2026-07-28' };
    const error = { code: -32022, message: 'Unsupported', data };
    sendJson(response, 400, { jsonrpc: '2.0', id: message.id, error });
    return true;
  };
  const own = await startGateway({ servers: { one: { url: other.url } }, waitReady: false });
  try {
    const { reason } = await own.waitForLog(
      (line) => line['msg'] === 'server ended, it is started again',
    );
    expect(reason).toContain('2099-01-01');
    expect(other.posts('initialize')).toEqual([]);
  } finally {
    await own.stop();
    await other.close();
  }
});
