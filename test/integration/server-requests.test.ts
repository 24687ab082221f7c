/**
 * Requests of a server to a client: only the client whose call caused them is asked, on the stream of
 * that call; the answer returns under the server's id; what can't be answered is refused at once.
 */
import { describe, expect, it } from 'vitest';
import type { ChannelClient } from '../support/channel-client.ts';
import type { HttpExchange } from '../support/http-client.ts';
import { fetchMetrics, metricSum } from '../support/metrics.ts';
import { isAlive, waitGone } from '../support/processes.ts';
import { type Journal, scriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useGateway, useScripted } from '../support/use-gateway.ts';
import { hasMethod, type Json, textOf, type WireMessage } from '../support/wire-message.ts';

const ELICIT = 'elicitation/create';
const SAMPLE = 'sampling/createMessage';
const CANCELLED = 'notifications/cancelled';
const CAPABLE = { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } };
const ACCEPT = { action: 'accept', content: { answer: 'yes' } };

/** What an asking tool answered with. */
const replyOf = (message: WireMessage): Json => JSON.parse(textOf(message)) as Json;

const serverRequestsOf = (messages: readonly WireMessage[]): WireMessage[] =>
  messages.filter(({ id, method }) => id !== undefined && method !== undefined);

/** The answers that the server got to its own requests. */
const responsesIn = (journal: Journal): WireMessage[] =>
  journal.messages().filter(({ method }) => method === undefined);

describe('on a shared server', () => {
  const { harness, journal } = useScripted();

  it.each([
    ['ask', ELICIT, ACCEPT],
    ['sample', SAMPLE, { role: 'assistant', content: { type: 'text', text: 'Hi' }, model: 'm' }],
  ])(
    'GW-096 %s reaches the caller alone, on its own stream, without a GET (trials 41, 42, 43)',
    async (tool, method, result) => {
      const a = await harness.session({ capabilities: CAPABLE });
      const b = await harness.session({ capabilities: CAPABLE });
      const streams = [b.openStream()];
      const ws = await harness.webSocket({ capabilities: CAPABLE });
      await streams[0]?.head;
      const pending = a.beginCall(tool, { v: 'mine' });
      const serverRequest = await pending.exchange.messages.next(hasMethod(method));
      expect(JSON.stringify(serverRequest.params)).toContain('mine');
      const posted = await a.respond(serverRequest.id, result);
      expect(posted.status).toBe(202);
      expect(posted.text).toBe('');
      expect(replyOf(await pending.answer)).toEqual({ v: 'mine', reply: { result } });
      await ws.request('ping');
      for (const client of [...streams, ws])
        expect(serverRequestsOf(client.messages.all)).toEqual([]);
    },
  );

  it('GW-096 the server request is on the wire before the answer exists (trial 44)', async () => {
    const a = await harness.session({ capabilities: CAPABLE });
    const { exchange, answer } = a.beginCall('ask', { v: 'early' });
    const serverRequest = await exchange.messages.next(hasMethod(ELICIT));
    expect(exchange.bytes.toString('utf8')).not.toContain('"result"');
    await a.respond(serverRequest.id, ACCEPT);
    await answer;
  });

  it('GW-096 never moves to a GET stream that is open', async () => {
    const a = await harness.session({ capabilities: CAPABLE });
    const stream = a.openStream();
    await stream.head;
    const pending = a.beginCall('ask', {});
    const serverRequest = await pending.exchange.messages.next(hasMethod(ELICIT));
    await a.respond(serverRequest.id, ACCEPT);
    await pending.answer;
    expect(serverRequestsOf(stream.messages.all)).toEqual([]);
  });

  it.each(['ws', 'sse'] as const)(
    'GW-096 reaches the caller over %s, and the answer returns',
    async (kind) => {
      const other = await harness.webSocket({ capabilities: CAPABLE });
      const client: ChannelClient =
        kind === 'ws'
          ? await harness.webSocket({ capabilities: CAPABLE })
          : await harness.sse({ capabilities: CAPABLE });
      const answer = client.call('ask', { v: 1.5 });
      const serverRequest = await client.messages.next(hasMethod(ELICIT));
      client.respond(serverRequest.id, ACCEPT);
      expect(replyOf(await answer)).toEqual({ v: 1.5, reply: { result: ACCEPT } });
      await other.request('ping');
      expect(serverRequestsOf(other.messages.all)).toEqual([]);
    },
  );

  it('GW-096 an error of the client arrives as it is', async () => {
    const a = await harness.session({ capabilities: CAPABLE });
    const pending = a.beginCall('ask', {});
    const serverRequest = await pending.exchange.messages.next(hasMethod(ELICIT));
    const error = { code: -1, message: 'User rejected', data: { why: 'é', n: 1 } };
    await a.respondError(serverRequest.id, error);
    expect(replyOf(await pending.answer)['reply']).toEqual({ error });
  });

  it('GW-096 the result of the client arrives byte for byte', async () => {
    const ws = await harness.webSocket({ capabilities: CAPABLE });
    const answer = ws.call('ask', {});
    const { id } = await ws.messages.next(hasMethod(ELICIT));
    const result =
      '{"action":"accept","content":{"n":9007199254740993,"f":1.0,"z":-0,"e":1E2},"x-y":[ 1 ]}';
    ws.sendText(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`);
    await answer;
    expect(responsesIn(journal).some(({ raw }) => raw.includes(`"result":${result}`))).toBe(true);
  });

  it('GW-096 two server requests of one call are both answered, in either order', async () => {
    for (const sequential of [true, false]) {
      const ws = await harness.webSocket({ capabilities: CAPABLE });
      const answer = ws.call('two_asks', { sequential });
      const first = await ws.messages.next(hasMethod(ELICIT));
      if (sequential) ws.respond(first.id, { action: 'accept', content: { answer: '1' } });
      const second = await ws.messages.next(hasMethod(ELICIT));
      expect(second.id).not.toEqual(first.id);
      ws.respond(second.id, { action: 'accept', content: { answer: '2' } });
      if (!sequential) ws.respond(first.id, { action: 'accept', content: { answer: '1' } });
      const { reply } = replyOf(await answer);
      expect(JSON.stringify(reply)).toMatch(/"1".*"2"/);
    }
  });

  it('GW-096 calls of two clients that ask at once: each gets its own server request', async () => {
    const clients = [
      await harness.webSocket({ capabilities: CAPABLE }),
      await harness.webSocket({ capabilities: CAPABLE }),
      await harness.sse({ capabilities: CAPABLE }),
    ];
    await Promise.all(
      clients.map(async (client, i) => {
        const answer = client.call('ask', { v: `client-${i}` }, 1);
        const serverRequest = await client.messages.next(hasMethod(ELICIT), 30_000);
        expect(serverRequest.params?.['message']).toBe(`client-${i}`);
        client.respond(serverRequest.id, { action: 'accept', content: { answer: `from-${i}` } });
        expect(JSON.stringify(replyOf(await answer))).toContain(`from-${i}`);
      }),
    );
  });

  it('GW-096 is held while calls of two clients could be behind it, then delivered', async () => {
    const asks = await harness.webSocket({ capabilities: CAPABLE });
    const other = await harness.webSocket({ capabilities: CAPABLE });
    const held = other.begin('tools/call', { name: 'hold', arguments: { key: 'q' } });
    await journal.waitForEvent('held:q');
    const answer = asks.call('ask', { v: 'held?' });
    await journal.waitFor(({ raw }) => raw.includes('held?'));
    await asks.request('ping');
    await until(async () => {
      const samples = await fetchMetrics(harness.gateway.adminUrl);
      return metricSum(samples, 'sluice_messages_total', { kind: 'requests' }) > 0;
    });
    expect(serverRequestsOf(asks.messages.all)).toEqual([]);
    await other.call('release', { key: 'q' });
    await held.answer;
    const serverRequest = await asks.messages.next(hasMethod(ELICIT));
    asks.respond(serverRequest.id, ACCEPT);
    expect(replyOf(await answer)['reply']).toEqual({ result: ACCEPT });
    expect(serverRequestsOf(other.messages.all)).toEqual([]);
  });

  it('GW-097 a capability that the client did not declare is -32601 at once (trial 42)', async () => {
    const session = await harness.session();
    const form = await harness.webSocket({ capabilities: { elicitation: {} } });
    for (const tool of ['ask', 'sample', 'roots']) {
      const pending = session.beginCall(tool, {});
      const { reply } = replyOf(await pending.answer);
      expect(reply).toMatchObject({ error: { code: -32601 } });
      expect(serverRequestsOf(pending.exchange.messages.all)).toEqual([]);
    }
    const { reply } = replyOf(await form.call('ask_url', {}));
    expect(reply).toMatchObject({ error: { code: -32602 } });
    expect(serverRequestsOf(form.messages.all)).toEqual([]);
  });

  it('GW-097 the server is told of sampling and elicitation, not of roots', async () => {
    const session = await harness.session();
    const client = JSON.parse(textOf(await session.call('client'))) as Json;
    expect(client['capabilities']).toEqual({ sampling: {}, elicitation: { form: {}, url: {} } });
    expect(client['clientInfo']).toMatchObject({ name: 'sluice' });
  });

  it('GW-092 ping is answered by the gateway in both directions', async () => {
    const ws = await harness.webSocket();
    const session = await harness.session();
    expect((await ws.request('ping')).result).toEqual({});
    expect((await session.request('ping')).raw).toContain('"result":{}');
    expect(replyOf(await ws.call('ping', { v: 1 }))).toEqual({ v: 1, reply: { result: {} } });
    expect(journal.messages('ping')).toEqual([]);
    expect(serverRequestsOf(ws.messages.all)).toEqual([]);
  });

  it('a server request that the server takes back is cancelled at the client, under its id', async () => {
    const ws = await harness.webSocket({ capabilities: CAPABLE });
    const answer = ws.call('ask_cancel', {});
    const serverRequest = await ws.messages.next(hasMethod(ELICIT));
    const cancel = await ws.messages.next(hasMethod(CANCELLED));
    expect(cancel.params).toEqual({ requestId: serverRequest.id, reason: 'never mind' });
    expect(textOf(await answer)).toBe('taken back');
    const before = responsesIn(journal).length;
    ws.respond(serverRequest.id, ACCEPT);
    await ws.call('echo', {});
    expect(responsesIn(journal)).toHaveLength(before);
  });

  it('an answer to nothing, a second answer, or one of another client reaches no server', async () => {
    const asked = await harness.session({ capabilities: CAPABLE });
    const other = await harness.session({ capabilities: CAPABLE });
    const pending = asked.beginCall('ask', {});
    const { id } = await pending.exchange.messages.next(hasMethod(ELICIT));
    const before = responsesIn(journal).length;
    await other.respond(id, { action: 'decline' });
    await asked.respond('no-such', { action: 'decline' });
    await asked.respond(String(id), { action: 'decline' });
    await asked.respond(id, ACCEPT);
    expect(replyOf(await pending.answer)['reply']).toEqual({ result: ACCEPT });
    await asked.respond(id, { action: 'decline' });
    await asked.call('echo', {});
    expect(responsesIn(journal)).toHaveLength(before + 1);
  });

  it('GW-105 a caller that cancels, then leaves: the server gets an answer in its place', async () => {
    const ws = await harness.webSocket({ capabilities: CAPABLE });
    for (const id of ['cancel', 'leave']) {
      ws.begin('tools/call', { name: 'ask', arguments: { v: id } }, id);
      const serverRequest = await ws.messages.next(hasMethod(ELICIT));
      const before = responsesIn(journal).length;
      if (id === 'leave') await ws.close();
      else ws.notify(CANCELLED, { requestId: id });
      await until(() => responsesIn(journal).length > before);
      expect(responsesIn(journal).at(-1)?.result).toEqual({ action: 'cancel' });
      if (id === 'leave') continue;
      const cancel = await ws.messages.next(hasMethod(CANCELLED));
      expect(cancel.params?.['requestId']).toBe(serverRequest.id);
    }
  });

  it('a call that was cancelled does not cost the next client its server request', async () => {
    const gone = await harness.webSocket({ capabilities: CAPABLE });
    gone.begin('tools/call', { name: 'hang', arguments: { key: 'gone' } });
    await journal.waitFor(({ raw }) => raw.includes('"key":"gone"'));
    await gone.close();
    const next = await harness.webSocket({ capabilities: CAPABLE });
    const answer = next.call('ask', { v: 'mine' });
    const serverRequest = await next.messages.next(hasMethod(ELICIT), 20_000);
    next.respond(serverRequest.id, ACCEPT);
    expect(replyOf(await answer)).toEqual({ v: 'mine', reply: { result: ACCEPT } });
  });

  it('a server request of nobody is refused with -32603 unattributable, and nobody is asked', async () => {
    const a = await harness.webSocket({ capabilities: CAPABLE });
    const b = await harness.webSocket({ capabilities: CAPABLE });
    expect(textOf(await a.call('ask_later', { v: 'late' }))).toBe('later');
    await until(() => journal.lines().some(({ raw }) => raw.startsWith('later:')));
    const event = journal.lines().find(({ raw }) => raw.startsWith('later:'));
    expect(JSON.parse(event?.raw.slice(6) ?? '')).toMatchObject({
      error: { code: -32603, data: { reason: 'unattributable' } },
    });
    for (const client of [a, b]) {
      await client.request('ping');
      expect(serverRequestsOf(client.messages.all)).toEqual([]);
    }
    const samples = await fetchMetrics(harness.gateway.adminUrl);
    const labels = { method: ELICIT, outcome: 'unattributable' };
    expect(metricSum(samples, 'sluice_server_requests_total', labels)).toBeGreaterThan(0);
    const advice = await harness.gateway.waitForLog((line) =>
      String(line['msg']).includes('sharing: session'),
    );
    expect(advice['server']).toBe('one');
  });

  it('GW-106 roots/list_changed of a client does not reach a server that others use', async () => {
    const ws = await harness.webSocket({ capabilities: CAPABLE });
    ws.notify('notifications/roots/list_changed');
    await ws.call('echo', {});
    expect(journal.messages('notifications/roots/list_changed')).toEqual([]);
  });
});

describe('on a shared server with static roots', () => {
  const roots = [{ uri: 'file:///data', name: 'Data' }, { uri: 'file:///more' }];
  const { harness, journal } = useScripted(
    scriptedServer({ args: ['--ask-after-init'], config: { roots } }),
  );

  it('roots/list is answered by the gateway, at any time, and no client is asked', async () => {
    await until(() => journal.lines().some(({ raw }) => raw.startsWith('roots:')));
    const event = journal.lines().find(({ raw }) => raw.startsWith('roots:'));
    expect(JSON.parse(event?.raw.slice(6) ?? '')).toEqual({ result: { roots } });
    const ws = await harness.webSocket({ capabilities: CAPABLE });
    expect(replyOf(await ws.call('roots', {}))['reply']).toEqual({ result: { roots } });
    expect(serverRequestsOf(ws.messages.all)).toEqual([]);
    const client = JSON.parse(textOf(await ws.call('client'))) as Json;
    expect((client['capabilities'] as Json)['roots']).toEqual({});
  });
});

describe('on private servers', () => {
  const server = scriptedServer({ args: ['--ask-after-init'], config: { sharing: 'session' } });
  const { journal } = server;
  const harness = useGateway(() => ({ servers: { one: server.config } }));

  it('GW-097 the server is told exactly what its client can do', async () => {
    for (const capabilities of [{}, CAPABLE, { elicitation: {} }]) {
      const ws = await harness.webSocket({ capabilities });
      const client = JSON.parse(textOf(await ws.call('client'))) as Json;
      expect(client['capabilities']).toEqual(capabilities);
      expect(client['clientInfo']).toEqual({ name: 'test-client', version: '1.0.0' });
    }
  });

  it('GW-106 roots/list_changed reaches the own server only, and its next roots/list is fresh', async () => {
    const a = await harness.webSocket({ capabilities: CAPABLE });
    const b = await harness.webSocket({ capabilities: CAPABLE });
    for (const client of [a, b]) {
      const serverRequest = await client.messages.next(hasMethod('roots/list'));
      client.respond(serverRequest.id, { roots: [] });
    }
    const pid = Number(textOf(await a.call('pid')));
    a.notify('notifications/roots/list_changed');
    const seen = await journal.waitFor(hasMethod('notifications/roots/list_changed'));
    expect(seen.pid).toBe(pid);
    const answer = a.call('roots', {});
    const serverRequest = await a.messages.next(hasMethod('roots/list'));
    const roots = [{ uri: 'file:///new' }];
    a.respond(serverRequest.id, { roots });
    expect(replyOf(await answer)['reply']).toEqual({ result: { roots } });
    await b.request('ping');
    expect(journal.messages('notifications/roots/list_changed')).toHaveLength(1);
    expect(serverRequestsOf(b.messages.all)).toHaveLength(1);
  });

  it('a server request outside any call waits for the GET stream of its client', async () => {
    const session = await harness.session({ capabilities: CAPABLE });
    const stream: HttpExchange = session.openStream();
    const serverRequest = await stream.messages.next(hasMethod('roots/list'));
    await session.respond(serverRequest.id, { roots: [{ uri: 'file:///late' }] });
    await until(() => journal.lines().some(({ raw }) => raw.includes('file:///late')));
  });

  it('GW-105 the end of a session while it is asked: an answer, EOF, and the process is gone', async () => {
    const ws = await harness.webSocket({ capabilities: CAPABLE });
    const pid = Number(textOf(await ws.call('pid')));
    ws.begin('tools/call', { name: 'ask', arguments: {} });
    await ws.messages.next(hasMethod(ELICIT));
    expect(isAlive(pid)).toBe(true);
    await ws.close();
    await waitGone([pid]);
    const own = journal.lines().filter((line) => line.pid === pid);
    const answered = own.findIndex(({ raw }) => raw.includes('"action":"cancel"'));
    const eof = own.findIndex(({ raw }) => raw === 'eof');
    expect(answered).toBeGreaterThan(0);
    expect(eof).toBeGreaterThan(answered);
    expect(own.map(({ raw }) => raw)).not.toContain('term');
  });
});
