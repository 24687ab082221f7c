// `sluice connect`: a stdio server over a remote endpoint, for clients of both eras.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EverythingServer } from '../support/everything-server.ts';
import { initializeRequest } from '../support/legacy-session.ts';
import { enveloped } from '../support/modern-envelope.ts';
import { ProxyServer } from '../support/proxy-server.ts';
import {
  eventOf,
  type RemoteRequest,
  RemoteServer,
  sendJson,
  sendStream,
} from '../support/remote-server.ts';
import { ROOT } from '../support/root.ts';
import { StdioClient } from '../support/stdio-client.ts';
import { until } from '../support/until.ts';
import { answers, textOf } from '../support/wire-message.ts';

const LISTEN = enveloped({ notifications: { toolsListChanged: true } });
let server: RemoteServer;
/** What the bridge is to exit with. */
let status = 0;
let client: StdioClient;

function connect(url: string, ...args: string[]): StdioClient {
  client = new StdioClient({
    command: process.execPath,
    args: [`${ROOT}src/main.ts`, 'connect', url, ...args],
  });
  return client;
}

beforeEach(async () => {
  status = 0;
  server = await RemoteServer.start();
});

afterEach(async () => {
  await client.close();
  expect(await client.exit).toBe(status);
  expect(client.noise).toEqual([]);
  await server.close();
});

describe('a legacy client', () => {
  it('GW-079 has one line for each message, and nothing else on stdout', async () => {
    connect(server.url, '--header', 'X-Key: k', '-H', 'X-Other:o');
    const { result } = await client.initialize();
    expect(result).toMatchObject({ serverInfo: { name: 'remote' }, protocolVersion: '2025-11-25' });
    server.takeover = ({ message, response }) => {
      if (message.method !== 'tools/call') return false;
      const body = { jsonrpc: '2.0', id: message.id, result: { text: 'a\nb' } };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body, null, 2));
      return true;
    };
    const answer = await client.call('echo', { text: 'line\nbreak' });
    expect(answer.result).toEqual({ text: 'a\nb' });
    const call = await server.post('tools/call');
    expect(call.message.params?.['arguments']).toEqual({ text: 'line\nbreak' });
    for (const { headers } of server.requests) {
      expect(headers).toMatchObject({ 'x-key': 'k', 'x-other': 'o' });
    }
    await client.close();
    expect(server.requests.at(-1)?.method).toBe('DELETE');
  });

  it('is seen by the server as it is', async () => {
    connect(server.url);
    await client.initialize({ version: '2025-06-18', capabilities: { sampling: {} } });
    const { message } = await server.post('initialize');
    expect(message.params).toEqual({
      protocolVersion: '2025-06-18',
      capabilities: { sampling: {} },
      clientInfo: { name: 'test-client', version: '1.0.0' },
    });
  });

  it('is what a modern server sees in the requests of the bridge itself, too', async () => {
    await server.close();
    server = await RemoteServer.start({ era: 'modern' });
    connect(server.url);
    const capabilities = { roots: { listChanged: true }, sampling: {}, tasks: { list: {} } };
    await client.initialize({ capabilities });
    const { message } = await server.post('server/discover');
    expect(message.params?.['_meta']).toMatchObject({
      'io.modelcontextprotocol/clientCapabilities': { roots: {}, sampling: {} },
    });
  });

  const ELSEWHERE = { location: 'http://127.0.0.1:1/' };
  const PAGE = { 'content-type': 'text/html' };
  it.each([
    [401, {}, 'it wants credentials (HTTP 401); check headers and auth', ['POST']],
    [403, {}, 'it does not accept the gateway (HTTP 403); check headers and auth', ['POST']],
    [
      404,
      {},
      'it has no MCP endpoint at this path (HTTP 404 to POST, HTTP 404 to GET); correct the URL.',
      ['POST', 'POST', 'GET'],
    ],
    [302, ELSEWHERE, 'it answered HTTP 302 with a redirect to another address', ['POST']],
    [
      200,
      PAGE,
      'it answered HTTP 200 with text/html, which is not an MCP answer; correct the URL.',
      ['POST', 'POST'],
    ],
  ])(
    'is told at once what is there instead: %s; the exit status is 1',
    async (code, headers, what, tried) => {
      status = 1;
      server.takeover = ({ response }) => {
        response.writeHead(code, headers).end('<html></html>');
        return true;
      };
      connect(server.url);
      const { error } = await client.initialize({ initialized: false });
      expect(error).toMatchObject({ code: -32603, data: { reason: 'server_unavailable' } });
      expect(error?.['message']).toContain(`Server "${server.url}" is not available: ${what}`);
      expect(error?.['message']).not.toContain('log');
      // The user is told the same.
      expect(client.stderr).toContain(`sluice connect: ${server.url}: ${what}`);
      expect(client.stderr).not.toContain('Trying again');
      // Asked once, and once more when the client asks once more.
      expect(server.requests.map(({ method }) => method)).toEqual(tried);
      await client.initialize({ initialized: false });
      expect(server.requests.map(({ method }) => method)).toEqual([...tried, ...tried]);
    },
  );

  it('is told of a refusal that may pass only when it was tried some times', async () => {
    status = 1;
    server.takeover = ({ response }) => {
      response.writeHead(500).end();
      return true;
    };
    connect(server.url);
    const { error } = await client.initialize({ initialized: false });
    const what = 'it answered HTTP 500.';
    expect(error?.['message']).toBe(`Server "${server.url}" is not available: ${what}`);
    // In words for the user, once, however often it was tried.
    const said = client.stderr.split(`sluice connect: ${server.url}: ${what} Trying again.`);
    expect(said).toHaveLength(2);
    expect(server.requests.length).toBeGreaterThan(2);
  });

  it('is told why a server that is there refuses the handshake', async () => {
    server.takeover = ({ method, message, response }) => {
      const error = { code: -32600, message: 'Server already initialized' };
      if (method === 'POST') sendJson(response, 400, { jsonrpc: '2.0', id: message.id, error });
      else response.writeHead(400).end();
      return true;
    };
    connect(server.url);
    const { error } = await client.initialize({ initialized: false });
    const what = 'it refuses initialize (HTTP 400): Server already initialized.';
    expect(error?.['message']).toBe(`Server "${server.url}" is not available: ${what}`);
  });

  it('is told that there is nobody at the address', async () => {
    const { url } = server;
    await server.close();
    status = 1;
    connect(url);
    const { error } = await client.initialize({ initialized: false });
    expect(error).toMatchObject({ code: -32603, data: { outcome: 'not_sent' } });
    const what =
      'could not be reached (ECONNREFUSED): no program listens there; start it, or correct';
    expect(error?.['message']).toContain(`Server "${url}" is not available: it ${what} the URL.`);
    expect(client.stderr).toContain(`sluice connect: ${url}: it ${what} the URL. Trying again.`);
  });
});

describe('behind a proxy', () => {
  it('a client gets at a server that only the proxy can find', async () => {
    const proxy = await ProxyServer.start();
    proxy.hosts.set('mcp.invalid:80', server.port);
    const env = { HTTP_PROXY: proxy.url, NO_PROXY: 'localhost' };
    client = new StdioClient({
      command: process.execPath,
      args: [`${ROOT}src/main.ts`, 'connect', 'http://mcp.invalid/mcp'],
      env,
    });
    await client.initialize();
    expect(textOf(await client.call('echo', { text: 'x' }))).toContain('x');
    expect(new Set(proxy.requests.map(({ target }) => target))).toEqual(
      new Set(['http://mcp.invalid/mcp']),
    );
    await client.close();
    await proxy.close();
  });
});

describe('the end of the input', () => {
  /** Takes calls of `echo` over, to be answered by hand. */
  function holdCalls(): RemoteRequest[] {
    const held: RemoteRequest[] = [];
    server.takeover = (request) => {
      if (request.message.method !== 'tools/call') return false;
      sendStream(request.response);
      held.push(request);
      return true;
    };
    return held;
  }

  const finish = ({ message, response }: RemoteRequest): void => {
    const result = { content: [{ type: 'text', text: 'done' }] };
    response.end(eventOf({ jsonrpc: '2.0', id: message.id, result }));
  };

  it('leaves time for answers: all of it may come in one go', async () => {
    const held = holdCalls();
    connect(server.url);
    for (const message of [
      initializeRequest(),
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'echo', arguments: {} } },
      { jsonrpc: '2.0', id: 3, method: 'tools/call', params: enveloped({ name: 'echo' }) },
      { jsonrpc: '2.0', id: 4, method: 'subscriptions/listen', params: LISTEN },
    ]) {
      client.sendText(JSON.stringify(message));
    }
    const closed = client.close();
    await until(() => held.length === 2);
    held.forEach(finish);
    await closed;
    const answered = client.messages.all.filter(({ result }) => result !== undefined);
    expect(answered.map(({ id }) => id).toSorted()).toEqual([0, 1, 2, 3, 4]);
  });

  it('answers for the user what the server still asks', async () => {
    const held = holdCalls();
    connect(server.url);
    await client.initialize({ capabilities: { elicitation: {}, sampling: {} } });
    const { answer } = client.begin('tools/call', { name: 'echo', arguments: {} }, 'c');
    const call = await until(() => held[0]);
    const closed = client.close();
    const ask = (id: string, method: string) =>
      call.response.write(eventOf({ jsonrpc: '2.0', id, method, params: {} }));
    ask('q', 'sampling/createMessage');
    await until(() => server.requests.some(({ message }) => message.id === 'q'));
    finish(call);
    expect((await answer).result).toBeDefined();
    await closed;
  });

  it('does not outlast a TERM; what is left gets an error', async () => {
    const held = holdCalls();
    connect(server.url);
    await client.initialize();
    const { answer } = client.begin('tools/call', { name: 'echo', arguments: {} }, 'c');
    await until(() => held.length === 1);
    const closed = client.close();
    client.child.kill('SIGTERM');
    expect((await answer).error).toMatchObject({ code: -32603, data: { outcome: 'unknown' } });
    await closed;
  });
});

describe('a modern client', () => {
  it('GW-080 server/discover, then initialize on the same channel', async () => {
    connect(server.url);
    const discovered = await client.request('server/discover', enveloped());
    expect(discovered.result).toMatchObject({
      supportedVersions: expect.arrayContaining(['2026-07-28']),
    });
    const { result } = await client.initialize();
    expect(result).toMatchObject({ protocolVersion: '2025-11-25' });
    const modern = client.request('tools/list', enveloped(), 'same');
    const legacy = client.request('tools/list', {}, 'other');
    expect((await modern).result).toMatchObject({ resultType: 'complete' });
    expect((await legacy).result).not.toHaveProperty('resultType');
  });

  it('GW-081 notifications/cancelled stops the call, and no response follows', async () => {
    connect(server.url);
    server.takeover = ({ message, response }) => {
      if (message.method !== 'tools/call') return false;
      sendStream(response);
      response.write(eventOf({ jsonrpc: '2.0', method: 'notifications/x' }));
      return true;
    };
    const params = enveloped({ name: 'echo', arguments: {} });
    client.begin('tools/call', params, 'slow');
    const call = await server.post('tools/call');
    client.notify('notifications/cancelled', { requestId: 'slow' });
    const cancelled = await server.post('notifications/cancelled');
    expect(cancelled.message.params?.['requestId']).toBe(call.message.id);
    expect((await client.request('tools/list', enveloped())).result).toBeDefined();
    expect(client.messages.all.filter(answers('slow'))).toEqual([]);
  });

  it('is refused an envelope that is none, another version, and an id that is in flight', async () => {
    connect(server.url);
    const meta = { 'io.modelcontextprotocol/clientCapabilities': 1 };
    const broken = await client.request('tools/list', enveloped({}, { meta }));
    expect(broken.error).toMatchObject({ code: -32602 });
    const version = await client.request('tools/list', enveloped({}, { version: '2099-01-01' }));
    expect(version.error).toMatchObject({
      code: -32022,
      data: { supported: ['2026-07-28'], requested: '2099-01-01' },
    });
    server.takeover = ({ message }) => message.method === 'tools/call';
    const params = enveloped({ name: 'echo', arguments: {} });
    const { answer } = client.begin('tools/call', params, 7);
    await server.post('tools/call');
    client.begin('tools/list', enveloped(), 7);
    expect((await answer).error).toMatchObject({ code: -32600 });
    client.notify('notifications/cancelled', { requestId: 7 });
  });
});

describe.each(['streamableHttp', 'sse'] as const)('over server-everything, %s', (mode) => {
  it('both eras list and call', async () => {
    const everything = await EverythingServer.start(mode);
    try {
      connect(everything.url);
      const args = { name: 'get-sum', arguments: { a: 2, b: 3 } };
      const modern = await client.request('tools/call', enveloped(args));
      expect(textOf(modern)).toContain('The sum of 2 and 3 is 5.');
      await client.initialize();
      expect(textOf(await client.request('tools/call', args))).toContain(
        'The sum of 2 and 3 is 5.',
      );
      expect((await client.request('tools/list')).result?.['tools']).toHaveLength(13);
      await client.close();
    } finally {
      await everything.close();
    }
  });
});
