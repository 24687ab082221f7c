// A modern server on stdio: for legacy clients, who are asked what it asks in its results, and for
// modern ones, whose states are their own (docs/protocol.md#handshake-across-eras,
// #results-across-eras, #rounds-of-server-requests, #states-between-modern-peers).
import { describe, expect, it } from 'vitest';
import type { LegacySession, SessionOptions } from '../support/legacy-session.ts';
import { ModernClient, serverRequestsOf } from '../support/modern-client.ts';
import { fixtureServer } from '../support/scripted-server.ts';
import { useScripted } from '../support/use-gateway.ts';
import { hasMethod, type Json, textOf } from '../support/wire-message.ts';

const P = 'io.modelcontextprotocol/';
const STATE = ' S1 "é" \\ ';
const { harness, journal } = useScripted(fixtureServer('scripted-modern.ts'));

const ALL: Json = {
  elicitation: { form: {}, url: {} },
  sampling: {},
  roots: { listChanged: true },
};
const session = (options: SessionOptions = {}): Promise<LegacySession> =>
  harness.session({ capabilities: ALL, ...options });
const modern = (capabilities: Json = ALL): ModernClient =>
  harness.track(new ModernClient(harness.url(), capabilities));
const accept = (answer: string): Json => ({ action: 'accept', content: { answer } });
const callsOf = (name: string, since = 0) =>
  journal
    .messages('tools/call')
    .slice(since)
    .filter(({ params }) => params?.['name'] === name);

describe('a legacy client', () => {
  it('GW-110, GW-016: everything works, in enveloped requests with its own capabilities', async () => {
    const by = await session({ version: '2025-06-18' });
    expect(by.initializeAnswer.result).toEqual({
      protocolVersion: '2025-06-18',
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        logging: {},
        completions: {},
      },
      serverInfo: { name: 'scripted-modern', title: 'Scripted modern', version: '2.0.0' },
      instructions: 'Do as the script says.',
    });
    const requests: readonly (readonly [string, Json | undefined, string])[] = [
      ['tools/list', undefined, 'tools'],
      ['tools/call', { name: 'echo', arguments: { n: 1 } }, 'content'],
      ['prompts/list', {}, 'prompts'],
      ['prompts/get', { name: 'greet' }, 'messages'],
      ['resources/list', {}, 'resources'],
      ['resources/read', { uri: 'test://one' }, 'contents'],
      ['completion/complete', { ref: {}, argument: { name: 'a', value: '' } }, 'completion'],
    ];
    for (const [method, params, key] of requests) {
      const { result } = await by.request(method, params);
      expect(Object.keys(result ?? {}), method).toEqual([key]);
    }
    expect((await by.request('ping')).result).toEqual({});
    expect(journal.lines().filter(({ raw }) => raw.startsWith('fault:'))).toEqual([]);
    expect(journal.messages('initialize')).toEqual([]);
    const [call] = callsOf('echo');
    expect(call?.params?.['_meta']).toEqual({
      [`${P}protocolVersion`]: '2026-07-28',
      [`${P}clientInfo`]: { name: 'test-client', version: '1.0.0' },
      [`${P}clientCapabilities`]: { ...ALL, roots: {} },
    });
  });

  it('GW-120, trial 51: is asked what the server wants to know, on the stream of the call', async () => {
    const by = await session();
    const since = journal.messages('tools/call').length;
    const pending = by.beginCall('ask_two', { v: 1 }, { meta: { progressToken: 'p' } });
    const { messages } = pending.exchange;
    const form = await messages.next(hasMethod('elicitation/create'));
    const roots = await messages.next(hasMethod('roots/list'));
    expect(form.params).toMatchObject({ message: 'Which?' });
    await by.respond(roots.id, { roots: [{ uri: 'file:///x' }] });
    await by.respond(form.id, accept('42'));
    expect(JSON.parse(textOf(await pending.answer))).toEqual({
      responses: { a: accept('42'), r: { roots: [{ uri: 'file:///x' }] } },
      state: STATE,
    });
    const [first, retry, ...more] = callsOf('ask_two', since);
    expect(more).toEqual([]);
    expect(retry?.id).not.toBe(first?.id);
    expect(retry?.params).toMatchObject({ arguments: { v: 1 }, requestState: STATE });
  });

  it('GW-120: a prompt asks, too; a form that is declined is an answer', async () => {
    const by = await session();
    const pending = by.begin('prompts/get', { name: 'ask' });
    const form = await pending.exchange.messages.next(hasMethod('elicitation/create'));
    await by.respond(form.id, { action: 'decline' });
    expect(JSON.stringify((await pending.answer).result)).toContain('decline');
  });

  it('a form that the client fails to show is closed for it', async () => {
    const by = await session();
    const pending = by.beginCall('ask');
    const form = await pending.exchange.messages.next(hasMethod('elicitation/create'));
    await by.respondError(form.id, { code: -32_603, message: 'no screen' });
    expect(JSON.parse(textOf(await pending.answer))).toMatchObject({
      responses: { a: { action: 'cancel' } },
    });
  });

  it('GW-121: refuses sampling, which ends its call', async () => {
    const by = await session();
    const since = journal.messages('tools/call').length;
    const pending = by.beginCall('ask_sampling');
    const serverRequest = await pending.exchange.messages.next(hasMethod('sampling/createMessage'));
    await by.respondError(serverRequest.id, { code: -1, message: 'User rejected' });
    expect((await pending.answer).result).toMatchObject({ isError: true });
    expect(callsOf('ask_sampling', since)).toHaveLength(1);
  });

  it('GW-122: a server that never stops asking is stopped', async () => {
    const by = await session();
    const pending = by.beginCall('loop');
    const { messages } = pending.exchange;
    const answering = (async () => {
      for (;;) {
        const { id } = await messages.next(hasMethod('elicitation/create'));
        await by.respond(id, accept('again'));
      }
    })().catch(() => undefined);
    expect((await pending.answer).result).toMatchObject({ isError: true });
    await answering;
    expect(journal.pidsOf('round').length).toBeLessThanOrEqual(11);
  });

  it('what the server may not ask, or asks wrongly, ends the call', async () => {
    const by = await session({ capabilities: {} });
    for (const tool of ['ask', 'ask_url', 'ask_unknown', 'ask_nothing', 'odd_type']) {
      expect((await by.call(tool)).result, tool).toMatchObject({ isError: true });
    }
  });

  it('cancels a call between two rounds', async () => {
    const by = await session();
    const since = journal.messages('tools/call').length;
    const pending = by.beginCall('ask');
    const form = await pending.exchange.messages.next(hasMethod('elicitation/create'));
    await by.cancel(pending.id);
    await by.respond(form.id, accept('late'));
    expect(textOf(await by.call('echo', { after: 1 }))).toContain('after');
    expect(callsOf('ask', since)).toHaveLength(1);
  });

  it('GW-126: subscribes through a listen stream', async () => {
    const by = await session();
    const stream = by.openStream();
    await stream.head;
    const uri = 'test://GW-126';
    expect((await by.request('resources/subscribe', { uri })).result).toEqual({});
    await journal.waitFor(
      ({ method, raw }) => method === 'subscriptions/listen' && raw.includes(uri),
    );
    await by.call('touch', { uri });
    const updated = await stream.messages.next(hasMethod('notifications/resources/updated'));
    expect(updated.params).toEqual({ uri });
    await by.call('list_change', { add: 'GW-126' });
    const changed = await stream.messages.next(hasMethod('notifications/tools/list_changed'));
    expect(changed.raw).not.toContain('subscriptionId');
    expect((await by.request('resources/unsubscribe', { uri })).result).toEqual({});
    const refused = await by.request('resources/subscribe', { uri: 'test://no' });
    expect(refused.error).toBeDefined();
  });

  it('is refused openly when it wants to watch too much', async () => {
    const by = await session();
    const long = (at: number): Json => ({ uri: `test://${at}/${'x'.repeat(7_500)}` });
    const room = 34;
    for (let at = 0; at < room; at++) {
      expect((await by.request('resources/subscribe', long(at))).result, `${at}`).toEqual({});
    }
    const { error } = await by.request('resources/subscribe', long(room));
    expect(error?.message).toContain('256 KiB');
    expect(error?.data).toMatchObject({ reason: 'overloaded', outcome: 'not_sent' });
  });

  it('GW-129: sets a level that goes with each of its requests', async () => {
    const [loud, quiet] = await Promise.all([session(), session()]);
    if (loud === undefined || quiet === undefined) throw new Error('no sessions');
    expect((await loud.request('logging/setLevel', { level: 'debug' })).result).toEqual({});
    const pending = loud.beginCall('log', { v: 1 });
    expect(textOf(await pending.answer)).toBe('debug');
    expect(textOf(await quiet.call('log'))).toBe('none');
    expect(pending.exchange.messages.all.map(({ method }) => method)).toEqual([
      'notifications/message',
      undefined,
    ]);
    expect(journal.messages('logging/setLevel')).toEqual([]);
  });

  it('gets errors that its own era has', async () => {
    const by = await session();
    const missing = await by.request('resources/read', { uri: 'file:///no' });
    expect(missing.error).toMatchObject({ code: -32_002, data: { uri: 'file:///no' } });
    for (const code of [-32_020, -32_021, -32_022]) {
      expect((await by.call('error', { code })).error?.code).toBe(-32_603);
    }
    expect((await by.call('error', { code: -7 })).error?.code).toBe(-7);
  });

  it('GW-139: a resource link is text for the oldest', async () => {
    for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
      const { result } = await (await session({ version })).call('link');
      const link = { type: 'resource_link', uri: 'test://one', name: 'one' };
      const text = { type: 'text', text: 'one: test://one' };
      expect(result, version).toEqual({ content: [version < '2025-06-18' ? text : link] });
    }
  });

  it('GW-140: structured content that is no object is wrapped, as its schema is', async () => {
    const by = await session();
    const { result } = await by.request('tools/list');
    const tools = result?.['tools'] as Json[];
    expect(tools.find(({ name }) => name === 'array')?.['outputSchema']).toEqual({
      type: 'object',
      properties: {
        result: {
          type: 'array',
          items: { anyOf: [{ type: 'number' }, { $ref: '#/properties/result/$defs/entry' }] },
          $defs: { entry: { type: 'object', properties: { a: { type: 'number' } } } },
        },
      },
      required: ['result'],
    });
    const called = await by.call('array');
    expect(called.result).toEqual({
      content: [{ type: 'text', text: '[1,{"a":2}]' }],
      structuredContent: { result: [1, { a: 2 }] },
    });
  });
});

describe('a modern client', () => {
  it('GW-020, GW-015: sees the server as it is', async () => {
    const { result } = await modern().request('server/discover');
    expect(result).toMatchObject({
      supportedVersions: ['2026-07-28'],
      ttlMs: 0,
      _meta: { [`${P}serverInfo`]: { name: 'scripted-modern' } },
    });
    const { result: called } = await modern().call('array');
    expect(called).toMatchObject({ resultType: 'complete', structuredContent: [1, { a: 2 }] });
    expect(await modern().call('link')).toMatchObject({
      result: { content: [{ type: 'resource_link' }] },
    });
  });

  it('GW-138: carries a state of its own back and forth', async () => {
    const by = modern();
    const since = journal.messages('tools/call').length;
    const round = await by.call('ask', { v: 1 });
    expect(serverRequestsOf(round)).toMatchObject({ a: { method: 'elicitation/create' } });
    expect(round.result?.['requestState']).not.toBe(STATE);
    const inputResponses = { a: accept('42') };
    const foreign = await by.retry('ask', { v: 2 }, round, inputResponses);
    expect(foreign.error).toMatchObject({ code: -32_602 });
    expect(callsOf('ask', since)).toHaveLength(1);
    const answer = await by.retry('ask', { v: 1 }, round, inputResponses);
    expect(JSON.parse(textOf(answer))).toEqual({ responses: inputResponses, state: STATE });
  });

  it('a server that gives no state gets none', async () => {
    const by = modern();
    const round = await by.call('ask_stateless');
    expect(round.result).not.toHaveProperty('requestState');
    const answer = await by.retry('ask_stateless', {}, round, { a: accept('42') });
    expect(JSON.parse(textOf(answer))).toMatchObject({ state: null });
  });

  it('GW-018: never sees codes of the way between gateway and server', async () => {
    const { status, message } = await modern({}).whole('tools/call', {
      name: 'needs_sampling',
      arguments: {},
    });
    expect({ status, code: message.error?.code }).toEqual({ status: 400, code: -32_021 });
    for (const code of [-32_020, -32_022, -32_002, -32_042, -32_077]) {
      expect((await modern().call('error', { code })).error?.code, String(code)).toBe(-32_603);
    }
  });

  it('GW-128: logs come with the request that asked for them', async () => {
    const pending = modern().beginCall('log', { v: 1 }, { meta: { [`${P}logLevel`]: 'error' } });
    expect(textOf(await pending.answer)).toBe('error');
    expect(pending.exchange.messages.all.map(({ method }) => method)).toEqual([
      'notifications/message',
      undefined,
    ]);
  });

  it('GW-128: is told what it asked for, though others call who asked for nothing', async () => {
    const silent = await session();
    const waiting = [
      silent.beginCall('hang', { v: 'quiet' }),
      modern().beginCall('hang', { v: 'q' }),
    ];
    await journal.waitFor(({ raw }) => raw.includes('"quiet"'));
    await journal.waitFor(({ raw }) => raw.includes('"q"'));
    const pending = modern().beginCall('log', { v: 2 }, { meta: { [`${P}logLevel`]: 'info' } });
    await pending.answer;
    expect(pending.exchange.messages.all.filter(hasMethod('notifications/message'))).toHaveLength(
      1,
    );
    for (const { exchange } of waiting) {
      expect(exchange.messages.all).toEqual([]);
      exchange.destroy();
    }
  });

  it('GW-090: progress comes with its own token, and closing the stream cancels', async () => {
    const pending = modern().beginCall('progress', {}, { meta: { progressToken: 'mine' } });
    await pending.answer;
    expect(pending.exchange.messages.all.map(({ params }) => params?.['progressToken'])).toEqual([
      'mine',
      'mine',
      'mine',
      undefined,
    ]);
    const hanging = modern().beginCall('hang', { v: 'closed' });
    const call = await journal.waitFor(({ raw }) => raw.includes('"closed"'));
    hanging.exchange.destroy();
    await journal.waitFor(
      ({ method, params }) =>
        method === 'notifications/cancelled' && params?.['requestId'] === call.id,
    );
  });

  it('GW-124: listens', async () => {
    const stream = await modern().listen({ toolsListChanged: true }, 9);
    await modern().call('list_change', { add: 'more' });
    const changed = await stream.messages.next(hasMethod('notifications/tools/list_changed'));
    expect(changed.params).toEqual({ _meta: { [`${P}subscriptionId`]: 9 } });
  });
});

it('what a client wants to watch is told the server once, not once for each resource', async () => {
  const by = modern();
  await by.request('tools/list');
  const listens = (): number => journal.messages('subscriptions/listen').length;
  const before = listens();
  const uris = Array.from({ length: 80 }, (_, at) => `test://${at}/${'x'.repeat(3_000)}`);
  const stream = await by.listen({ resourceSubscriptions: uris });
  const [acknowledged] = stream.messages.all;
  const agreed = acknowledged?.params?.['notifications'] as Json;
  expect(agreed['resourceSubscriptions']).toHaveLength(80);
  expect(listens() - before).toBe(1);
  stream.destroy();
});
