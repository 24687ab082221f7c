// Several clients at several servers at once: what servers ask and tell reaches the client whose call it
// is about, private processes are each client's own, and nothing is left when clients are gone.
import { describe, expect, it } from 'vitest';
import { CatalogServer, tools } from '../support/catalog-server.ts';
import { ERAS, modernAt, sessionAt, toolNames } from '../support/era-client.ts';
import type { LegacySession } from '../support/legacy-session.ts';
import { serverRequestsOf } from '../support/modern-client.ts';
import { isAlive } from '../support/processes.ts';
import { fixtureServer, scriptedServer } from '../support/scripted-server.ts';
import { SseClient } from '../support/sse-client.ts';
import { until } from '../support/until.ts';
import { useGateway } from '../support/use-gateway.ts';
import { hasMethod, type Json, textOf } from '../support/wire-message.ts';
import { WsClient } from '../support/ws-client.ts';

const ALL = { elicitation: {}, sampling: {}, roots: { listChanged: true } };

describe('private servers next to a shared one', () => {
  const own = scriptedServer({ config: { sharing: 'session' } });
  const too = scriptedServer({ config: { sharing: 'session' } });
  const shared = scriptedServer();
  const harness = useGateway(() => ({
    servers: { own: own.config, too: too.config, shared: shared.config },
  }));
  const session = async () => await sessionAt(harness, '/mcp', { capabilities: ALL });

  it('each client has a process of its own at each private server', async () => {
    const clients = await Promise.all([session(), session()]);
    const pids = await Promise.all(
      clients.flatMap((client) => ['own', 'too'].map((key) => client.call(`${key}__pid`))),
    );
    expect(new Set(pids.map(textOf)).size).toBe(4);
    const common = await Promise.all(clients.map((client) => client.call('shared__pid')));
    expect(new Set(common.map(textOf)).size).toBe(1);
    const counts = await Promise.all(clients.map((client) => client.call('own__count')));
    expect(counts.map(textOf)).toEqual(['1', '1']);
    const processes = pids.map((pid) => Number(textOf(pid)));
    await clients[0]?.close();
    await until(() => processes.slice(0, 2).every((pid) => !isAlive(pid)));
    expect(processes.slice(2).every(isAlive)).toBe(true);
    await clients[1]?.close();
    await until(() => processes.every((pid) => !isAlive(pid)));
    expect(shared.journal.starts.every(isAlive)).toBe(true);
  });

  it.each([
    ['ask', 'elicitation/create', { action: 'accept', content: { answer: '' } }],
    [
      'sample',
      'sampling/createMessage',
      { role: 'assistant', content: { type: 'text', text: '' } },
    ],
    ['roots', 'roots/list', { roots: [{ uri: 'file:///' }] }],
  ])(
    '%s of two clients at once: each answers its own server request, GW-096',
    async (tool, method, reply) => {
      const clients = await Promise.all([session(), session()]);
      const calls = clients.flatMap((client, index) =>
        ['own', 'too'].map((key) => {
          const v = `${key} ${index}`;
          return { v, client, pending: client.beginCall(`${key}__${tool}`, { v }) };
        }),
      );
      for (const { v, client, pending } of calls.toReversed()) {
        const serverRequest = await pending.exchange.messages.next(hasMethod(method));
        if (tool !== 'roots') expect(serverRequest.raw).toContain(v);
        await client.respond(serverRequest.id, { ...reply, _meta: { who: v } });
      }
      for (const { v, pending } of calls) {
        const answer = JSON.parse(textOf(await pending.answer)) as {
          v: unknown;
          reply: { result: Json };
        };
        expect(answer).toMatchObject({ v, reply: { result: { _meta: { who: v } } } });
      }
    },
  );

  it('progress, logs and cancels of two clients stay apart', async () => {
    const clients = await Promise.all([session(), session()]);
    const streams = await Promise.all(
      clients.map(async (client) => {
        const stream = client.openStream();
        await stream.head;
        return stream;
      }),
    );
    const held = clients.map((client, index) =>
      client.beginCall(
        'own__hold',
        { key: 'same', v: `v${index}` },
        { meta: { progressToken: 't' } },
      ),
    );
    for (const { exchange } of held) {
      const { params } = await exchange.messages.next(hasMethod('notifications/progress'));
      expect(params).toMatchObject({ progressToken: 't', progress: 1 });
    }
    const [first, second] = clients as [LegacySession, LegacySession];
    await first.cancel(held[0]?.id ?? 0);
    const cancelled = await own.journal.waitFor(hasMethod('notifications/cancelled'));
    expect(textOf(await second.call('own__release', { key: 'same' }))).toBe('released');
    expect(textOf((await held[1]?.answer) ?? { raw: 'none' })).toBe('v1');
    expect(textOf(await first.call('own__pid'))).toBe(String(cancelled.pid));
    const log = first.beginCall('own__log', { level: 'error', v: 'mine' });
    await log.answer;
    const seen = (): string =>
      [log.exchange, streams[0]].map((one) => JSON.stringify(one?.messages.all)).join('');
    await until(() => seen().includes('"data":"mine"'));
    await second.call('own__log', { level: 'error', v: 'yours' });
    expect(seen()).not.toContain('yours');
    expect(JSON.stringify(streams[1]?.messages.all)).not.toContain('mine');
  });

  it('GW-106: new roots are told to the private servers of that client only', async () => {
    const [one, two] = await Promise.all([session(), session()]);
    const pid = Number(textOf(await one.call('own__pid')));
    await two.call('own__pid');
    await one.notify('notifications/roots/list_changed');
    const told = await own.journal.waitFor(hasMethod('notifications/roots/list_changed'));
    expect(told.pid).toBe(pid);
    await one.call('shared__pid');
    expect(shared.journal.messages('notifications/roots/list_changed')).toEqual([]);
    expect(own.journal.messages('notifications/roots/list_changed')).toHaveLength(1);
  });

  it('a server gets the capabilities of its client, and is asked for nothing else', async () => {
    const plain = await sessionAt(harness, '/mcp');
    const answer = JSON.parse(textOf(await plain.call('own__ask', { v: 'x' }))) as Json;
    expect(answer['reply']).toMatchObject({ error: { code: -32_601 } });
    expect(JSON.parse(textOf(await plain.call('own__client')))).toMatchObject({ capabilities: {} });
    const rich = await session();
    expect(JSON.parse(textOf(await rich.call('own__client')))).toMatchObject({ capabilities: ALL });
  });

  it('setLevel reaches every server, and its own process of a private one', async () => {
    const client = await session();
    const pid = Number(textOf(await client.call('own__pid')));
    expect((await client.request('logging/setLevel', { level: 'warning' })).result).toEqual({});
    expect((await client.request('logging/setLevel', { level: 'loud' })).error).toMatchObject({
      code: -32_602,
    });
    for (const { journal } of [own, too, shared]) {
      const told = journal
        .messages('logging/setLevel')
        .filter(({ params }) => params?.['level'] === 'warning');
      expect(told).toHaveLength(1);
    }
    expect(own.journal.messages('logging/setLevel').at(-1)?.pid).toBe(pid);
  });

  it('a killed private server fails its own call only, and is there again', async () => {
    const [one, two] = await Promise.all([session(), session()]);
    const other = one.beginCall('too__hold', { key: 'k' });
    const theirs = two.beginCall('own__hold', { key: 'k' });
    await too.journal.waitForEvent('held:k');
    const { error } = await one.call('own__die');
    expect(error).toMatchObject({
      code: -32_603,
      data: { reason: 'server_exited', server: 'own' },
    });
    await one.call('too__release', { key: 'k' });
    expect(textOf(await other.answer)).toBe('held');
    await two.call('own__release', { key: 'k' });
    expect(textOf(await theirs.answer)).toBe('held');
    expect(textOf(await one.call('own__echo', { a: 1 }))).toBe('{"a":1}');
  });
});

describe.each(['scripted.ts', 'scripted-modern.ts'])('two servers of one kind, %s', (file) => {
  const isModern = file === 'scripted-modern.ts';
  const [a, b] = [fixtureServer(file), fixtureServer(file)];
  const harness = useGateway(() => ({ servers: { a: a.config, b: b.config } }));
  const answers = (round: { result?: Json }): Json => {
    const [key] = Object.keys((round.result?.['inputRequests'] ?? {}) as Json);
    return { [key ?? '']: { action: 'accept', content: { answer: 'yes' } } };
  };

  it('GW-131: a server request of one server is answered to it, and to no other', async () => {
    const client = modernAt(harness, '/mcp', { elicitation: { form: {} } });
    const args = { v: 'Which?' };
    const round = await client.call('a__ask', args);
    expect(Object.values(serverRequestsOf(round))).toMatchObject([
      { method: 'elicitation/create' },
    ]);
    for (const name of ['b__ask', 'a__echo', 'a__ask_hang']) {
      const { error } = await client.retry(name, args, round, answers(round));
      expect(error, name).toMatchObject({ code: -32_602 });
    }
    const elsewhere = modernAt(harness, '/servers/a/mcp', { elicitation: { form: {} } });
    const { error } = await elsewhere.retry('ask', args, round, answers(round));
    expect(error).toMatchObject({ code: -32_602 });
    expect(b.journal.messages('tools/call')).toEqual([]);
    const done = await client.retry('a__ask', args, round, answers(round));
    expect(textOf(done)).toContain('yes');
  });

  it('GW-096: a session answers the server requests of both at once', async () => {
    const client = await sessionAt(harness, '/mcp', { capabilities: { elicitation: {} } });
    const calls = ['a', 'b'].map((key) => ({
      key,
      pending: client.beginCall(`${key}__ask`, { v: key }),
    }));
    for (const { key, pending } of calls.toReversed()) {
      const serverRequest = await pending.exchange.messages.next(hasMethod('elicitation/create'));
      await client.respond(serverRequest.id, {
        action: 'accept',
        content: { answer: `to ${key}` },
      });
    }
    for (const { key, pending } of calls) {
      expect(textOf(await pending.answer)).toContain(`to ${key}`);
    }
  });

  it.each(ERAS)('one of them dies, and only its own calls fail (%s)', async (era) => {
    const client = era === 'legacy' ? await sessionAt(harness, '/mcp') : modernAt(harness, '/mcp');
    const slow = client.beginCall('b__slow', { ms: 300, v: 'slow' });
    const { error } = await client.call('a__die');
    expect(error).toMatchObject({ code: -32_603, data: { server: 'a' } });
    expect(textOf(await slow.answer)).toBe('slow');
    expect(textOf(await client.call('b__count'))).toMatch(/^\d+$/);
    expect(textOf(await client.call('a__echo', { x: 1 }))).toBe('{"x":1}');
  });

  it('refuses methods that nothing says the server of', async () => {
    const client = await sessionAt(harness, '/mcp');
    const { error } = await client.request('vendor/echo', { a: 1 });
    expect(error).toMatchObject({ code: -32_601 });
    expect(a.journal.messages('vendor/echo')).toEqual([]);
    if (isModern) return;
    const one = await sessionAt(harness, '/servers/a/mcp');
    expect((await one.request('vendor/echo', { a: 1 })).result).toEqual({ a: 1 });
  });
});

describe('what passes through', () => {
  const a = scriptedServer();
  const b = scriptedServer();
  const harness = useGateway(() => ({
    servers: { a: a.config, b: b.config },
    config: { endpoints: { '/one': { servers: ['a'] } } },
  }));
  const RAW = '{"n":9007199254740993,"f":1.0,"z":-0,"e":1E2,"s":"\\u00e9\\/" , "k":{"b":1,"a":2}}';

  it.each(['"id \\" 1"', '9007199254740993', '"7"', '7'])('GW-011: id %s', async (id) => {
    const session = await sessionAt(harness, '/mcp');
    const call = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"b__echo"}}`;
    const { text } = await session.post(call).response();
    expect(text).toContain(`"id":${id}`);
  });

  it('trial 63: keeps arguments and results byte for byte', async () => {
    const session = await sessionAt(harness, '/mcp');
    const params = `{"x-before":1.0,"name":"b__echo","arguments":${RAW},"x-after":[1E2]}`;
    const { text } = await session
      .post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`)
      .response();
    const [message] = /\{.*\}/.exec(text) ?? [];
    expect(textOf(JSON.parse(message ?? '') as never)).toBe(RAW);
    const got = b.journal.messages('tools/call').at(-1)?.raw;
    expect(got).toContain(`{"x-before":1.0,"name":"echo","arguments":${RAW},"x-after":[1E2]`);
    const result = await session.call('a__bigint');
    expect(result.raw).toContain(
      '"structuredContent":{"n":9007199254740993,"f":1.0,"z":-0,"e":1E2}',
    );
    expect(result.raw).toContain(
      '"x-extra":{"k" : [1.0,"\\u00e9"]},"_meta":{"vendor.example/x":1.50}',
    );
  });

  it('trial 62: keeps the members of entries that it does not know', async () => {
    const session = await sessionAt(harness, '/mcp');
    const { raw } = await session.request('tools/list');
    expect(raw).toContain('"x-custom":{"a":1.0,"big":9007199254740993}');
    expect(raw).toContain('{"name":"b__bigint","title":"Big \\u00e9"');
  });

  it('passes a vendor method where there is but one server', async () => {
    const session = await sessionAt(harness, '/one/mcp');
    expect((await session.request('vendor/echo', { a: 1 })).result).toEqual({ a: 1 });
  });

  it.each(['ws', 'sse'] as const)('serves the endpoint over %s', async (kind) => {
    const client =
      kind === 'ws'
        ? harness.track(await WsClient.connect(`${harness.gateway.url}/ws`))
        : harness.track(await SseClient.open(`${harness.gateway.url}/sse`));
    const hello = await client.initialize({ version: '2024-11-05', capabilities: ALL });
    expect(hello.result).toMatchObject({ serverInfo: { name: 'sluice' } });
    const { result } = await client.request('tools/list');
    expect(result?.['tools']).toContainEqual(expect.objectContaining({ name: 'b__echo' }));
    expect(textOf(await client.call('b__echo', { a: 1 }))).toBe('{"a":1}');
    const asking = client.call('a__ask', { v: 'Which?' });
    const serverRequest = await client.messages.next(hasMethod('elicitation/create'));
    client.respond(serverRequest.id, { action: 'decline' });
    expect(textOf(await asking)).toContain('decline');
    await client.call('b__list_change');
    await client.messages.next(hasMethod('notifications/tools/list_changed'));
  });
});

describe('tasks of several servers', () => {
  const a = fixtureServer('scripted-tasks.ts');
  const b = fixtureServer('scripted-tasks.ts');
  const harness = useGateway(() => ({ servers: { a: a.config, b: b.config } }));

  it('each is found at its own server, though their ids are the same there', async () => {
    const session = await sessionAt(harness, '/mcp');
    const start = async (key: string): Promise<string> => {
      const params = { name: `${key}__quick`, arguments: { v: `of ${key}` }, task: {} };
      const { result, raw } = await session.request('tools/call', params);
      const task = result?.['task'] as Json | undefined;
      if (task === undefined) throw new Error(`no task: ${raw}`);
      return String(task['taskId']);
    };
    const ids = [await start('a'), await start('b')];
    expect(new Set(ids).size).toBe(2);
    for (const [index, taskId] of ids.entries()) {
      const { result } = await session.request('tasks/get', { taskId });
      expect(result).toMatchObject({ taskId });
      const key = index === 0 ? 'a' : 'b';
      expect(textOf(await session.request('tasks/result', { taskId }))).toBe(`of ${key}`);
    }
    expect((await session.request('tasks/get', { taskId: 'task-1' })).error).toMatchObject({
      code: -32_602,
    });
    expect((await session.request('tasks/list')).error).toMatchObject({ code: -32_601 });
    const stranger = await sessionAt(harness, '/servers/a/mcp');
    expect((await stranger.request('tasks/get', { taskId: ids[1] })).error).toMatchObject({
      code: -32_602,
    });
  });
});

describe('lists of private servers', () => {
  const own = new CatalogServer(
    { name: 'own', tools: tools('of_the_first'), resources: [{ uri: 'x://first', name: 'x' }] },
    { config: { sharing: 'session' } },
  );
  const shared = new CatalogServer({ name: 'shared', tools: tools('t') });
  const harness = useGateway(() => ({
    servers: { own: own.config, shared: shared.config },
    config: { endpoints: { '/quick': { listTimeout: '300ms' } } },
  }));

  it('are shown to nobody else, also when their own server is slow', async () => {
    const first = await sessionAt(harness, '/quick/mcp');
    await until(async () => (await toolNames(first)).includes('own__of_the_first'));
    await first.request('resources/list');
    own.change({ held: ['tools/list', 'resources/list'], tools: tools('of_the_second') });
    const second = await sessionAt(harness, '/quick/mcp');
    expect(await toolNames(second)).toEqual(['shared__t']);
    // Whatever is not listed yet, it is not the other one's that is called.
    const { error } = await second.call('own__of_the_first');
    expect(error).toMatchObject({ code: -32_603, data: { outcome: 'not_sent', server: 'own' } });
    expect((await second.request('resources/list')).raw).not.toContain('first');
    expect(await toolNames(first)).toContain('own__of_the_first');
    own.change({ held: [] });
    await until(async () => (await toolNames(second)).includes('own__of_the_second'));
  });
});

describe('a level that was set before a server came', () => {
  const early = scriptedServer();
  const held = ['initialize'];
  const late = new CatalogServer({ name: 'late', tools: tools('t'), held });
  const harness = useGateway(() => ({
    servers: { early: early.config, late: late.config },
    config: { endpoints: { '/quick': { listTimeout: '300ms' } } },
    waitReady: false,
  }));

  it('counts for that server too', async () => {
    await sessionAt(harness, '/servers/early/mcp');
    const session = await sessionAt(harness, '/quick/mcp');
    const level = { level: 'error' };
    expect((await session.request('logging/setLevel', level)).result).toEqual({});
    late.change({ held: [] });
    const told = await late.journal.waitFor(hasMethod('logging/setLevel'));
    expect(told.params).toEqual(level);
  });
});

describe.each(['principal', 'session'])('a modern client, sharing: %s', (sharing) => {
  const own = scriptedServer({ config: { sharing } });
  const shared = scriptedServer();
  const harness = useGateway(() => ({ servers: { shared: shared.config, own: own.config } }));

  it('has one process at a private server, whatever it asks the endpoint', async () => {
    const client = modernAt(harness, '/mcp', { elicitation: { form: {} } });
    await client.request('server/discover');
    const names = await toolNames(client);
    expect(names).toContain('own__count');
    expect(names).toContain('shared__count');
    expect(textOf(await client.call('own__count'))).toBe('1');
    expect(textOf(await client.call('shared__echo', { a: 1 }))).toBe('{"a":1}');
    await client.request('resources/read', { uri: 'own+test://one' });
    expect(textOf(await client.call('own__count'))).toBe('2');
    const round = await client.call('own__ask', { v: 'Which?' });
    const [key = ''] = Object.keys(serverRequestsOf(round));
    const reply = { [key]: { action: 'accept', content: { answer: 'yes' } } };
    expect(textOf(await client.retry('own__ask', { v: 'Which?' }, round, reply))).toContain('yes');
    expect(textOf(await client.call('own__count'))).toBe('3');
    expect(own.journal.starts.filter(isAlive)).toHaveLength(1);
    const lists = own.journal.messages('tools/list').length;
    await toolNames(client);
    expect(own.journal.messages('tools/list')).toHaveLength(lists);
  });
});
