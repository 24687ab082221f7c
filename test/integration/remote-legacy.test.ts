// Remote servers of the session era over Streamable HTTP: sessions, headers, streams, and what each
// fault of theirs costs whom.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { post } from '../support/http-client.ts';
import { LegacySession } from '../support/legacy-session.ts';
import { assertTablesEmpty, fetchMetrics, metricSum } from '../support/metrics.ts';
import {
  eventOf,
  type RemoteRequest,
  RemoteServer,
  sendJson,
  sendStream,
} from '../support/remote-server.ts';
import { until } from '../support/until.ts';

let server: RemoteServer;
let elsewhere: RemoteServer;
let gateway: Gateway;

beforeAll(async () => {
  server = await RemoteServer.start();
  elsewhere = await RemoteServer.start();
  gateway = await startGateway({
    servers: {
      one: {
        url: server.url,
        headers: { Authorization: 'Bearer own-token', 'X-Team': 'a b' },
        limits: { message: '64KiB' },
      },
    },
  });
});

beforeEach(() => {
  server.takeover = () => false;
});

afterAll(async () => {
  await gateway.stop();
  await server.close();
  await elsewhere.close();
});

async function withSession(
  use: (session: LegacySession) => Promise<void>,
  options: Parameters<typeof LegacySession.open>[1] = {},
): Promise<void> {
  const session = await LegacySession.open(gateway.endpoint('one'), options);
  try {
    await use(session);
  } finally {
    await session.close();
  }
  await assertTablesEmpty(gateway);
}

const isCall = ({ message }: RemoteRequest): boolean => message.method === 'tools/call';
const answerOf = ({ message }: RemoteRequest, text: string): unknown => ({
  jsonrpc: '2.0',
  id: message.id,
  result: { content: [{ type: 'text', text }] },
});

/** Answers the next `times` tool calls. */
function onCalls(times: number, answer: (request: RemoteRequest) => void): void {
  let left = times;
  server.takeover = (request) => {
    if (!isCall(request) || left-- <= 0) return false;
    answer(request);
    return true;
  };
}

/** What a failed call says. */
async function failureOf(session: LegacySession): Promise<unknown> {
  const { error } = await session.call('echo');
  return { code: error?.code, ...(error?.data as object) };
}

test('a session is opened once, and every message says which it is', async () => {
  await withSession(async (session) => {
    const answer = await session.call('echo', { a: 1 });
    expect(answer.result).toEqual({ content: [{ type: 'text', text: '{"a":1}' }] });
  });
  expect(server.posts('initialize')).toHaveLength(1);
  const [initialize] = server.posts('initialize');
  const initialized = await server.post('notifications/initialized');
  const call = await server.post('tools/call');
  expect(initialize?.headers['mcp-session-id']).toBeUndefined();
  for (const { headers } of [initialized, call]) {
    expect(headers).toMatchObject({
      'mcp-session-id': 's-1',
      'mcp-protocol-version': '2025-11-25',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'accept-encoding': 'identity',
    });
  }
});

test('D01: nothing of a client travels upstream, whatever the casing', async () => {
  const secrets = {
    AUTHORIZATION: 'Bearer client-token',
    cookie: 'c=client-cookie',
    'X-API-Key': 'client-key',
    'x-Custom': 'client-custom',
    'User-Agent': 'client-agent',
    'X-Forwarded-For': '192.0.2.77',
  };
  await withSession(
    async (session) => {
      await session.call('echo');
      expect(session.sessionId).not.toBe('');
      const sent = JSON.stringify(
        server.requests.map(({ rawHeaders, path }) => [rawHeaders, path]),
      );
      for (const secret of ['client-', '192.0.2.77', session.sessionId]) {
        expect(sent).not.toContain(secret);
      }
    },
    { headers: secrets },
  );
  for (const { headers } of server.requests) {
    expect(headers.authorization).toBe('Bearer own-token');
    expect(headers['x-team']).toBe('a b');
  }
});

test('answers are carried byte for byte, in JSON and in streams', async () => {
  const result =
    '{"content":[],"n":9007199254740993,"f":1.0,"z":-0,"e":1E2,"u":"\\u00e9\\/","x":{ }}';
  const text = (request: RemoteRequest): string =>
    `{"result":${result},"jsonrpc":"2.0","id":${String(request.message.id)}}`;
  for (const isStream of [false, true]) {
    onCalls(1, (request) => {
      const { response } = request;
      if (isStream) {
        sendStream(response);
        response.end(`: hello\r\nevent: message\r\ndata: ${text(request)}\r\n\r\n`);
      } else {
        response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
        response.end(text(request));
      }
    });
    await withSession(async (session) => {
      const { exchange, answer } = session.beginCall('echo');
      await answer;
      expect(exchange.bytes.toString()).toContain(result);
    });
  }
});

test('progress, logs and server requests on the stream of a call reach its caller', async () => {
  let asked: RemoteRequest | undefined;
  server.takeover = (request) => {
    const { message, response } = request;
    if (message.id === 'q' && message.method === undefined) {
      response.writeHead(202).end();
      asked?.response.end(eventOf(answerOf(asked, JSON.stringify(message.result))));
      return true;
    }
    if (!isCall(request) || JSON.stringify(message).includes('quiet')) return false;
    asked = request;
    sendStream(response);
    const meta = message.params?.['_meta'] as { progressToken: number } | undefined;
    const progress = { progressToken: meta?.progressToken, progress: 1 };
    response.write('id: 0\ndata:\n\n');
    response.write(eventOf({ jsonrpc: '2.0', method: 'notifications/progress', params: progress }));
    response.write(
      eventOf({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: { message: '?' } }),
    );
    return true;
  };
  const capabilities = { elicitation: {} };
  await withSession(
    async (asker) => {
      const call = asker.beginCall('echo', {}, { meta: { progressToken: 'mine' } });
      const progress = await call.exchange.messages.next(
        ({ method }) => method === 'notifications/progress',
      );
      expect(progress.params).toEqual({ progressToken: 'mine', progress: 1 });
      const serverRequest = await call.exchange.messages.next(
        ({ method }) => method === 'elicitation/create',
      );
      await asker.respond(serverRequest.id, { action: 'accept', content: {} });
      const { result } = await call.answer;
      expect(JSON.stringify(result)).toContain('accept');
    },
    { capabilities },
  );
});

test('a server request is given to the call on whose stream it came, at once, among several clients', async () => {
  const held: RemoteRequest[] = [];
  server.takeover = (request) => {
    const { message, response } = request;
    if (message.id === 'q' && message.method === undefined) {
      response.writeHead(202).end();
      for (const one of held) one.response.end(eventOf(answerOf(one, 'done')));
      return true;
    }
    if (!isCall(request)) return false;
    held.push(request);
    sendStream(response);
    if (held.length < 2) return true;
    const params = { message: '?' };
    const [first] = held;
    first?.response.write(
      eventOf({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params }),
    );
    return true;
  };
  const capabilities = { elicitation: {} };
  await withSession(
    async (first) => {
      await withSessionAlone(async (second) => {
        const call = first.beginCall('echo');
        await until(() => held.length === 1);
        const other = second.beginCall('echo');
        const serverRequest = await call.exchange.messages.next(({ id }) => id !== undefined);
        expect(serverRequest.method).toBe('elicitation/create');
        await first.respond(serverRequest.id, { action: 'decline' });
        await Promise.all([call.answer, other.answer]);
      }, capabilities);
    },
    { capabilities },
  );
});

async function withSessionAlone(
  use: (session: LegacySession) => Promise<void>,
  capabilities: Readonly<Record<string, unknown>>,
): Promise<void> {
  const session = await LegacySession.open(gateway.endpoint('one'), { capabilities });
  try {
    await use(session);
  } finally {
    await session.close();
  }
}

test('D03: challenges of the server stay here', async () => {
  for (const status of [401, 403, 500, 503]) {
    onCalls(1, ({ response }) => {
      const challenge = { 'www-authenticate': 'Bearer resource_metadata="http://evil.example"' };
      sendJson(
        response,
        status,
        { jsonrpc: '2.0', id: null, error: { code: -1, message: 'secret' } },
        challenge,
      );
    });
    await withSession(async (session) => {
      const exchange = session.beginCall('echo').exchange;
      const { status: seen, headers, text } = await exchange.response();
      expect(seen).toBe(200);
      expect(headers['www-authenticate']).toBeUndefined();
      expect(text).not.toContain('evil.example');
      expect(text).not.toContain('secret');
      expect(JSON.parse(text).error).toMatchObject({
        code: -32603,
        data: { reason: 'server_unavailable', outcome: 'unknown', server: 'one' },
      });
    });
  }
});

test.each([400, 401, 403, 404, 410, 422, 429, 500, 503])(
  'an error for the request is its answer, with status %i too',
  async (status) => {
    const error = { code: -32050, message: 'No quota left', data: { at: 7 } };
    onCalls(1, ({ message, response }) => {
      sendJson(response, status, { jsonrpc: '2.0', id: message.id, error });
    });
    await withSession(async (session) => {
      expect((await session.call('echo')).error).toEqual(error);
    });
  },
);

test('a result for the request is its answer, with status 500 too', async () => {
  onCalls(1, (request) => sendJson(request.response, 500, answerOf(request, 'done')));
  await withSession(async (session) => {
    expect(JSON.stringify((await session.call('echo')).result)).toContain('done');
  });
});

test('a server that refuses the probe for its era with an error and status 500 is asked in the old way', async () => {
  const odd = await RemoteServer.start();
  odd.takeover = ({ message, response }) => {
    if (message.method !== 'server/discover') return false;
    const error = { code: -32601, message: 'Method not found' };
    sendJson(response, 500, { jsonrpc: '2.0', id: message.id, error });
    return true;
  };
  const other = await startGateway({ servers: { one: { url: odd.url } } });
  const session = await LegacySession.open(other.endpoint('one'));
  expect((await session.call('echo')).result).toBeDefined();
  await session.close();
  await other.stop();
  await odd.close();
});

test('D04: redirects to elsewhere are not followed, on the origin up to three are', async () => {
  for (const status of [301, 302, 303, 307, 308]) {
    onCalls(1, ({ response }) => {
      response.writeHead(status, { location: elsewhere.url }).end();
    });
    await withSession(async (session) => {
      expect(await failureOf(session)).toMatchObject({
        code: -32603,
        reason: 'server_protocol_error',
      });
    });
  }
  expect(elsewhere.requests).toEqual([]);
  let hops = 3;
  server.takeover = (request) => {
    if (request.message.method !== 'tools/call' || hops-- <= 0) return false;
    request.response.writeHead(307, { location: `/mcp?hop=${hops}` }).end();
    return true;
  };
  await withSession(async (session) => {
    expect((await session.call('echo', { a: 1 })).result).toBeDefined();
    hops = 4;
    expect(await failureOf(session)).toMatchObject({ reason: 'server_protocol_error' });
  });
});

test('F73: a stream that is cut fails its call, and what only reads is sent again', async () => {
  onCalls(1, ({ response }) => {
    sendStream(response);
    response.write(': working\n\n');
    setImmediate(() => response.destroy());
  });
  await withSession(async (session) => {
    expect(await failureOf(session)).toMatchObject({ reason: 'server_exited', outcome: 'unknown' });
    const before = server.posts('tools/list').length;
    server.takeover = (request) => {
      if (request.message.method !== 'tools/list') return false;
      if (server.posts('tools/list').length > before + 1) return false;
      request.response.destroy();
      return true;
    };
    expect((await session.request('tools/list')).result).toBeDefined();
    expect(server.posts('tools/list').length).toBe(before + 2);
  });
});

test('F73: a stream that had an event with an id is resumed behind it', async () => {
  let cut: RemoteRequest | undefined;
  server.takeover = (request) => {
    const { method, headers, response } = request;
    if (isCall(request)) {
      cut = request;
      sendStream(response);
      response.end('id: e1\nretry: 10\ndata: \n\n');
      return true;
    }
    if (method !== 'GET' || headers['last-event-id'] !== 'e1' || cut === undefined) return false;
    sendStream(response);
    response.end(eventOf(answerOf(cut, 'late'), 'e2'));
    return true;
  };
  await withSession(async (session) => {
    const { result } = await session.call('echo');
    expect(JSON.stringify(result)).toContain('late');
  });
});

test('answers that are none fail their call', async () => {
  const answers: [number, string, string, string][] = [
    [200, 'text/html', '<html>', 'server_protocol_error'],
    [202, 'text/plain', '', 'server_protocol_error'],
    [200, 'application/json', '{"broken', 'server_protocol_error'],
    [
      200,
      'application/json',
      '{"jsonrpc":"2.0","id":"other","result":{}}',
      'server_protocol_error',
    ],
    [418, 'text/plain', 'teapot', 'server_protocol_error'],
    [200, 'application/json', `"${'x'.repeat(70_000)}"`, 'response_too_large'],
  ];
  await withSession(async (session) => {
    for (const [status, type, body, reason] of answers) {
      onCalls(1, ({ response }) => {
        response.writeHead(status, { 'content-type': type });
        response.end(body);
      });
      expect(await failureOf(session), body.slice(0, 40)).toMatchObject({ code: -32603, reason });
    }
    // The id stands in the middle, where nobody looks: the end of the stream tells.
    onCalls(1, ({ message, response }) => {
      sendStream(response);
      const x = 'x'.repeat(70_000);
      response.end(
        `data: {"result":{"x":"${x}"},"id":${message.id},"jsonrpc":"2.0","y":"${x}"}\n\n`,
      );
    });
    expect(await failureOf(session)).toMatchObject({ code: -32603, reason: 'response_too_large' });
    // A client error with a JSON-RPC error is the server's answer, whatever id it gave.
    onCalls(1, ({ response }) => {
      sendJson(response, 400, {
        jsonrpc: '2.0',
        id: null,
        error: { code: -32602, message: 'No.' },
      });
    });
    expect((await session.call('echo')).error).toEqual({ code: -32602, message: 'No.' });
  });
});

test('a cancel is a message in a session, and the stream of the call is let go', async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  onCalls(1, ({ response }) => {
    sendStream(response);
    response.on('close', resolve);
  });
  await withSession(async (session) => {
    const before = server.posts('tools/call').length;
    const cancels = server.posts('notifications/cancelled').length;
    const call = session.beginCall('echo');
    const { message } = await server.post('tools/call', before + 1);
    await session.cancel(call.id);
    const cancelled = await server.post('notifications/cancelled', cancels + 1);
    expect(cancelled.message.params?.['requestId']).toBe(message.id);
    expect(cancelled.headers['mcp-session-id']).toBeDefined();
    await closed;
  });
});

test('GW-144: a session that the server forgot is opened again, and both reads and calls survive it', async () => {
  const before = server.sessions;
  const forgets = (method: string): void => {
    let hasForgotten = false;
    server.takeover = (request) => {
      if (request.message.method !== method || hasForgotten) return false;
      hasForgotten = true;
      request.response.writeHead(404).end('Session not found');
      return true;
    };
  };
  await withSession(async (session) => {
    forgets('tools/list');
    expect((await session.request('tools/list')).result).toEqual({ tools: server.tools });
    expect(server.sessions).toBe(before + 1);
    forgets('tools/call');
    expect((await session.call('echo')).result).toBeDefined();
    expect(server.sessions).toBe(before + 2);
  });
  const restarts = await fetchMetrics(gateway.adminUrl);
  expect(metricSum(restarts, 'sluice_server_restarts_total', { reason: 'session_lost' })).toBe(2);
});

test('F71: nobody at the address is told at once, and the server is found again', async () => {
  const { port } = server;
  await server.close();
  await withSessionFailing();
  await server.listen(port);
  await gateway.waitForLog(
    (line) => line['msg'] === 'server ready' && Number(line['seconds']) >= 0,
  );
  const session = await LegacySession.open(gateway.endpoint('one'));
  await session.close();
});

async function withSessionFailing(): Promise<void> {
  const answer = await post(gateway.endpoint('one'), {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 't', version: '0' },
    },
  }).response();
  // The gateway may have noticed already, or answer for the server from what it knows.
  expect([200, 503]).toContain(answer.status);
}

test('the session is ended when the gateway stops', async () => {
  const other = await startGateway({ servers: { one: { url: server.url } } });
  expect((await other.stop()).code).toBe(0);
  const deleted = server.requests.find(({ method }) => method === 'DELETE');
  expect(deleted?.headers['mcp-session-id']).toMatch(/^s-\d+$/);
});
