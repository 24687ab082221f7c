/**
 * Generic JSON-RPC servers (`protocol: jsonrpc`): no handshake, both framings, ids rewritten both ways,
 * batches answered as one array, over WebSocket and POST.
 */
import { describe, expect, it } from 'vitest';
import type { ChannelClient } from '../support/channel-client.ts';
import { type FullResponse, post, send } from '../support/http-client.ts';
import { isAlive, waitGone } from '../support/processes.ts';
import { fixtureServer, type ScriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useGateway } from '../support/use-gateway.ts';
import { hasMethod, type WireMessage } from '../support/wire-message.ts';
import { WsClient } from '../support/ws-client.ts';

const PLAIN = { protocol: 'jsonrpc' };
const LSP = { ...PLAIN, framing: 'content-length' };

const servers: Record<string, ScriptedServer> = {
  line: fixtureServer('jsonrpc-line.ts', { config: PLAIN }),
  lsp: fixtureServer('jsonrpc-content-length.ts', { config: LSP }),
  'shared-line': fixtureServer('jsonrpc-line.ts', { config: { ...PLAIN, sharing: 'shared' } }),
  'shared-lsp': fixtureServer('jsonrpc-content-length.ts', {
    config: { ...LSP, sharing: 'shared' },
  }),
};
const harness = useGateway(() => ({
  servers: Object.fromEntries(Object.entries(servers).map(([name, { config }]) => [name, config])),
  // POSTs have a session of their own for as long as they are used.
  config: { sessions: { idle: '1s' } },
}));
const journalOf = (server: string): ScriptedServer['journal'] => {
  const found = servers[server];
  if (!found) throw new Error(`no server ${server}`);
  return found.journal;
};

async function connect(server: string): Promise<WsClient> {
  return harness.track(await WsClient.connect(harness.gateway.endpoint(server, 'ws')));
}
const postTo = (server: string, body: unknown): Promise<FullResponse> =>
  post(harness.url(server), body).response();

/** Sends a request and waits for its answer; params may be positional. */
function ask(
  client: ChannelClient,
  id: unknown,
  method: string,
  params?: unknown,
): Promise<WireMessage> {
  client.send({ jsonrpc: '2.0', id, method, params });
  return client.messages.next((message) => message.id === id && message.method === undefined);
}

const KINDS = ['line', 'lsp', 'shared-line', 'shared-lsp'];

describe.each(KINDS)('%s over WebSocket', (server) => {
  it('needs no handshake and gets none', async () => {
    const client = await connect(server);
    expect((await ask(client, 1, 'echo', [1, 'two'])).result).toEqual([1, 'two']);
    expect(journalOf(server).messages('initialize')).toEqual([]);
  });

  it('takes positional, named and no params, and any id', async () => {
    const client = await connect(server);
    for (const id of [0, 1, -1, '', '1', 'é', '7f1c3f0e-4b62-4e39-8e3d-9b4a6d1f7a10']) {
      expect((await ask(client, id, 'add', [1, 2])).result).toBe(3);
      expect((await ask(client, id, 'add', { a: 2, b: 3 })).result).toBe(5);
      expect((await ask(client, id, 'echo')).result).toBeNull();
    }
  });

  it('carries methods that MCP gives a meaning to, and notifications too', async () => {
    const client = await connect(server);
    const methods = ['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'tasks/get'];
    for (const method of methods) {
      const { error } = await ask(client, method, method, { protocolVersion: 'x', uri: 1 });
      expect(error).toEqual({ code: -32601, message: `No method ${method}` });
    }
    const notifications = [
      'initialized',
      'notifications/initialized',
      'notifications/cancelled',
      'notifications/progress',
    ];
    for (const method of notifications) {
      client.send({ jsonrpc: '2.0', method, params: { requestId: 1, progressToken: 1 } });
    }
    await ask(client, 'fence', 'echo');
    for (const method of notifications) {
      expect(journalOf(server).messages(method).length).toBeGreaterThan(0);
    }
  });

  it('gives $/cancelRequest the id that the server knows; the answer still comes', async () => {
    const client = await connect(server);
    const other = await connect(server);
    const slow = ask(client, 'mine', 'slow', [300, 'done']);
    const seen = await journalOf(server).waitFor(
      ({ raw }) => raw.includes('[300,"done"]') && raw.includes('"slow"'),
    );
    const cancel = { jsonrpc: '2.0', method: '$/cancelRequest' };
    other.send({ ...cancel, params: { id: 'mine', from: 'other' } });
    client.send({ ...cancel, params: { id: 'unknown', from: 'mine' } });
    // What another reader would take for the id, and a request, which some servers do as well.
    client.send({ ...cancel, params: { id: 'mine', ID: seen.id, from: 'twins' } });
    client.send({ ...cancel, id: 'request', params: { id: seen.id, from: 'request' } });
    client.send({ ...cancel, params: { id: 'mine', from: 'mine' } });
    expect((await slow).result).toBe('done');
    await ask(other, 1, 'echo');
    const cancels = journalOf(server)
      .messages('$/cancelRequest')
      .filter(({ params }) => params?.['from'] !== undefined);
    expect(cancels.map(({ params }) => params)).toEqual([{ id: seen.id, from: 'mine' }]);
  });

  it('carries errors of the server as they are', async () => {
    const client = await connect(server);
    const { error } = await ask(client, 'e', 'no.such');
    expect(error).toEqual({ code: -32601, message: 'No method no.such' });
  });

  it('answers a batch with one array, in any order, with the ids of the client', async () => {
    const client = await connect(server);
    const frames: string[] = [];
    client.socket.on('message', (data: Buffer) => frames.push(data.toString('utf8')));
    client.send([
      { jsonrpc: '2.0', id: 'b', method: 'slow', params: [30, 'late'] },
      { jsonrpc: '2.0', method: 'echo', params: ['nobody asked'] },
      { jsonrpc: '2.0', id: 2, method: 'add', params: [1, 1] },
      { foo: 'boo' },
      { jsonrpc: '2.0', id: '2', method: 'nope' },
    ]);
    await until(() => frames.length > 0);
    const answers = JSON.parse(frames[0] ?? '') as WireMessage[];
    expect(answers).toHaveLength(4);
    expect(answers).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: 'b', result: 'late' }),
        expect.objectContaining({ id: 2, result: 2 }),
        expect.objectContaining({ id: null, error: expect.objectContaining({ code: -32600 }) }),
        expect.objectContaining({ id: '2', error: expect.objectContaining({ code: -32601 }) }),
      ]),
    );
    await ask(client, 'fence', 'echo');
    expect(frames).toHaveLength(2);
  });

  it('splits the batch: the server never sees an array', async () => {
    const client = await connect(server);
    client.send([
      { jsonrpc: '2.0', id: 1, method: 'echo', params: ['split'] },
      { jsonrpc: '2.0', method: 'echo', params: ['split'] },
    ]);
    await client.messages.next(({ id }) => id === 1);
    const split = (): unknown[] =>
      journalOf(server)
        .messages('echo')
        .filter(({ raw }) => raw.includes('split'));
    // The notification is not answered, so the server may still be reading it.
    await until(() => split().length === 2, { what: 'both parts at the server' });
    expect(split()).toHaveLength(2);
  });

  it('refuses an empty batch and what is no message, and stays open', async () => {
    const client = await connect(server);
    for (const [text, code] of [
      ['[]', -32600],
      ['1', -32600],
      ['{"jsonrpc":"2.0","id":1,"method":7}', -32600],
      ['{bad json', -32700],
      ['[1,', -32700],
    ] as const) {
      client.sendText(text);
      const refused = await client.messages.next(({ error }) => error !== undefined);
      expect(refused.error?.code).toBe(code);
    }
    expect((await ask(client, 1, 'echo', [])).result).toEqual([]);
  });

  it('carries requests of the server to the client, and the answer back', async () => {
    const client = await connect(server);
    for (const reply of [
      { result: { yes: 'é', list: [1] } },
      { error: { code: 7, message: 'no', data: [1] } },
    ]) {
      client.send({ jsonrpc: '2.0', id: 'q', method: 'ask_client', params: { v: 'x' } });
      const serverRequest = await client.messages.next(hasMethod('question'));
      expect(serverRequest.params).toEqual({ v: 'x' });
      client.send({ jsonrpc: '2.0', id: serverRequest.id, ...reply });
      const answer = await client.messages.next((m) => m.id === 'q' && m.method === undefined);
      expect(answer.result).toEqual(reply);
    }
  });

  it('carries text of any size and script, byte for byte toward the server', async () => {
    const client = await connect(server);
    const big = 'é😀\u00a0'.repeat(60_000);
    expect((await ask(client, 1, 'echo', [big])).result).toEqual([big]);
    const params = '{"n":9007199254740993,"f":1.0,"z":-0,"e":1E2,"a" : [ 1 ]}';
    client.sendText(`{"jsonrpc":"2.0","id":2,"method":"echo","params":${params},"x-odd":1.0}`);
    await client.messages.next(({ id }) => id === 2);
    const sent = journalOf(server).messages('echo').at(-1);
    expect(sent?.raw).toContain(`"params":${params},"x-odd":1.0`);
  });

  it('fails calls in flight when the server ends; the next one works on a new process', async () => {
    const client = await connect(server);
    const pid = (await ask(client, 1, 'pid')).result;
    const slow = ask(client, 2, 'slow', [60_000, 'never']);
    const { error } = await ask(client, 3, 'crash');
    for (const one of [error, (await slow).error]) {
      expect(one).toMatchObject({ code: -32603, data: { reason: 'server_exited' } });
    }
    expect((await ask(client, 4, 'pid')).result).not.toBe(pid);
  });
});

describe('sharing', () => {
  it.each(['line', 'lsp'])(
    '%s: by default each client has a process, which goes with it',
    async (server) => {
      const a = await connect(server);
      const b = await connect(server);
      const [first, second] = [(await ask(a, 1, 'pid')).result, (await ask(b, 1, 'pid')).result];
      expect(first).not.toBe(second);
      a.send({ jsonrpc: '2.0', id: 2, method: 'notify_all', params: { v: 1 } });
      await a.messages.next(hasMethod('event'));
      await ask(b, 2, 'echo');
      expect(b.messages.all.filter(hasMethod('event'))).toEqual([]);
      await a.close();
      await waitGone([Number(first)]);
      expect(isAlive(Number(second))).toBe(true);
    },
  );

  it.each(['shared-line', 'shared-lsp'])(
    '%s: notifications go to every session',
    async (server) => {
      const clients = [await connect(server), await connect(server), await connect(server)];
      const pids = await Promise.all(
        clients.map(async (client) => (await ask(client, 1, 'pid')).result),
      );
      expect(new Set(pids).size).toBe(1);
      // Nobody is calling any more when the second event is sent: it is nobody's in particular.
      const [first] = clients;
      first?.send({ jsonrpc: '2.0', method: 'notify_all', params: { v: 1.5 } });
      for (const client of clients) {
        const event = await client.messages.next(hasMethod('event'));
        expect(event.params).toEqual({ v: 1.5 });
      }
    },
  );

  it('shared: a notification during a call of one client goes to every session too', async () => {
    const clients = [await connect('shared-line'), await connect('shared-line')];
    expect((await ask(clients[0] as WsClient, 1, 'notify_all', { v: 2 })).result).toBe('sent');
    for (const client of clients) {
      expect((await client.messages.next(hasMethod('event'))).params).toEqual({ v: 2 });
    }
  });

  it.each(['shared-line', 'shared-lsp'])(
    '%s: equal ids of two clients never cross',
    async (server) => {
      const a = await connect(server);
      const b = await connect(server);
      const slow = ask(a, 7, 'slow', [100, 'AAA']);
      const fast = ask(b, 7, 'slow', [10, 'BBB']);
      expect((await slow).result).toBe('AAA');
      expect((await fast).result).toBe('BBB');
    },
  );

  it('shared: a server request reaches the client whose call is in flight, and only it', async () => {
    const a = await connect('shared-line');
    const b = await connect('shared-line');
    const answer = ask(a, 1, 'ask_client', { v: 1 });
    const serverRequest = await a.messages.next(hasMethod('question'));
    a.send({ jsonrpc: '2.0', id: serverRequest.id, result: 'mine' });
    expect((await answer).result).toEqual({ result: 'mine' });
    await ask(b, 1, 'echo');
    expect(b.messages.all.filter(hasMethod('question'))).toEqual([]);
  });
});

describe.each(['line', 'shared-lsp'])('%s over POST', (server) => {
  it('answers requests, batches and notifications, with the status that fits', async () => {
    const single = await postTo(server, { jsonrpc: '2.0', id: 'x', method: 'add', params: [1, 2] });
    expect(single.status).toBe(200);
    expect(single.headers['content-type']).toContain('application/json');
    expect(single.json()).toEqual({ jsonrpc: '2.0', id: 'x', result: 3 });

    const batch = await postTo(server, [
      { jsonrpc: '2.0', id: 1, method: 'echo', params: ['a'] },
      { jsonrpc: '2.0', method: 'echo' },
      1,
      { jsonrpc: '2.0', id: '1', method: 'nope' },
    ]);
    expect(batch.status).toBe(200);
    expect(batch.json()).toHaveLength(3);
    expect(batch.json()).toEqual(
      expect.arrayContaining([
        { jsonrpc: '2.0', id: 1, result: ['a'] },
        { jsonrpc: '2.0', id: null, error: expect.objectContaining({ code: -32600 }) },
        { jsonrpc: '2.0', id: '1', error: expect.objectContaining({ code: -32601 }) },
      ]),
    );

    const notification = { jsonrpc: '2.0', method: 'echo' };
    for (const body of [notification, [notification, notification]]) {
      const accepted = await postTo(server, body);
      expect(accepted.status).toBe(202);
      expect(accepted.text).toBe('');
    }
    const empty = await postTo(server, []);
    expect(empty.status).toBe(400);
    expect(empty.json()).toMatchObject({ id: null, error: { code: -32600 } });
    const broken = await postTo(server, '{bad');
    expect(broken.status).toBe(400);
    expect(broken.json()).toMatchObject({ id: null, error: { code: -32700 } });
  });

  it('serves POSTs at once with equal ids, each its own', async () => {
    const values = Array.from({ length: 20 }, (_, i) => i);
    const answers = await Promise.all(
      values.map((v) =>
        postTo(server, { jsonrpc: '2.0', id: 1, method: 'slow', params: [40 - v, v] }),
      ),
    );
    expect(answers.map((answer) => (answer.json() as WireMessage).result)).toEqual(values);
  });

  it('can not be asked: the server gets an error at once, and the call ends', async () => {
    const answer = await postTo(server, {
      jsonrpc: '2.0',
      id: 1,
      method: 'ask_client',
      params: {},
    });
    expect(answer.json()).toMatchObject({ id: 1, result: { error: { code: expect.any(Number) } } });
  });

  it('has no GET and no DELETE', async () => {
    for (const method of ['GET', 'DELETE']) {
      const headers = { accept: 'text/event-stream' };
      const refused = await send(harness.url(server), { method, headers });
      expect(refused.status).toBe(405);
    }
  });
});

describe('a plain server that is broken', () => {
  const missing = { command: 'no-such-command-anywhere', ...PLAIN };
  const small = fixtureServer('jsonrpc-content-length.ts', {
    config: { ...LSP, limits: { message: '64KiB' } },
  });
  const garbled = {
    command: 'sh',
    args: ['-c', 'printf "Hello, no frame\\r\\n\\r\\n"; cat >&2'],
    ...LSP,
  };
  const broken = useGateway(() => ({
    servers: { missing, garbled, small: small.config },
    config: { sessions: { idle: '1s' } },
  }));

  it('and can not be started: the socket gets the reason and is closed, a POST is answered', async () => {
    const client = await WsClient.connect(broken.gateway.endpoint('missing', 'ws'));
    const refused = await client.messages.next(({ error }) => error !== undefined);
    expect(refused.error?.data).toMatchObject({
      reason: 'server_unavailable',
      outcome: 'not_sent',
    });
    await client.closed;
    const body = { jsonrpc: '2.0', id: 7, method: 'x' };
    const answer = await post(broken.url('missing'), body).response();
    expect(answer.json()).toMatchObject({
      id: 7,
      error: { data: { reason: 'server_unavailable' } },
    });
  });

  it('and writes no frames: its calls fail, the gateway lives on', async () => {
    const client = broken.track(await WsClient.connect(broken.gateway.endpoint('garbled', 'ws')));
    client.send({ jsonrpc: '2.0', id: 1, method: 'x' });
    const { error } = await client.messages.next((message) => message.error !== undefined);
    expect(error?.code).toBe(-32603);
    expect((await send(`${broken.gateway.adminUrl}/healthz`)).status).toBe(200);
  });

  it('and answers too much: only that call fails', async () => {
    const client = broken.track(await WsClient.connect(broken.gateway.endpoint('small', 'ws')));
    const pid = (await ask(client, 1, 'pid')).result;
    const { error } = await ask(client, 2, 'echo', ['x'.repeat(200_000)]);
    expect(error?.data).toMatchObject({ reason: 'response_too_large', outcome: 'unknown' });
    expect((await ask(client, 3, 'pid')).result).toBe(pid);
  });
});
