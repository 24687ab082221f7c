// `sluice connect`: a stdio server over a remote endpoint, for clients of both eras.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EverythingServer } from '../support/everything-server.ts';
import { ROOT } from '../support/gateway.ts';
import { enveloped } from '../support/modern-envelope.ts';
import { eventOf, RemoteServer, sendStream } from '../support/remote-server.ts';
import { StdioClient } from '../support/stdio-client.ts';
import { answers, textOf } from '../support/wire-message.ts';

let server: RemoteServer;
let client: StdioClient;

function connect(url: string, ...args: string[]): StdioClient {
  client = new StdioClient({
    command: process.execPath,
    args: [`${ROOT}src/main.ts`, 'connect', url, ...args],
  });
  return client;
}

beforeEach(async () => {
  server = await RemoteServer.start();
});

afterEach(async () => {
  await client.close();
  expect(await client.exit).toBe(0);
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

  it('is told that the server refuses the gateway', async () => {
    server.takeover = ({ response }) => {
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
      return true;
    };
    connect(server.url);
    const { error } = await client.initialize({ initialized: false });
    expect(error).toMatchObject({ code: -32603, data: { reason: 'server_unavailable' } });
    expect(error?.['message']).toContain('HTTP 401');
    expect(server.posts('initialize')).toEqual([]);
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
