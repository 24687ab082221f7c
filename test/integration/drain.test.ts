/**
 * What clients meet while the gateway stops: calls in flight get what they need to end, all else is
 * turned away and may be sent again elsewhere (docs/reliability.md#r5, #f59).
 */
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Gateway, type StopResult, startGateway } from '../support/gateway.ts';
import { POST_HEADERS, post, send } from '../support/http-client.ts';
import { initializeRequest, LegacySession } from '../support/legacy-session.ts';
import { fetchMetrics, metricSum } from '../support/metrics.ts';
import { ModernClient, serverRequestsOf } from '../support/modern-client.ts';
import { enveloped } from '../support/modern-envelope.ts';
import { descendants, isAlive, waitGone } from '../support/processes.ts';
import { type ScriptedServer, scriptedServer } from '../support/scripted-server.ts';
import { SseClient } from '../support/sse-client.ts';
import { until, within } from '../support/until.ts';
import {
  hasMethod,
  type Json,
  parseMessage,
  textOf,
  type WireMessage,
} from '../support/wire-message.ts';
import { WsClient } from '../support/ws-client.ts';

const CAPABILITIES = { elicitation: { form: {} } };
const YES: Json = { action: 'accept', content: { answer: 'yes' } };
const isServerRequest = (message: WireMessage): boolean => message.method === 'elicitation/create';
const DRAINING = { code: -32603, data: { reason: 'draining', outcome: 'not_sent' } };

let one: ScriptedServer;
let gateway: Gateway;

async function startWith(config: Json = {}): Promise<void> {
  one = scriptedServer();
  gateway = await startGateway({ servers: { one: one.config }, config });
}

/** TERM, and the gateway has taken it. */
async function drain(): Promise<void> {
  gateway.signal('SIGTERM');
  await until(async () => (await send(`${gateway.adminUrl}/readyz`)).status === 503);
}

/** Calls a tool, and reads nothing but the head of the answer. */
function unread(session: LegacySession, name: string, args: Json): Promise<IncomingMessage> {
  const params = { name, arguments: args };
  return new Promise((resolve, reject) => {
    const headers = { ...POST_HEADERS, accept: 'application/json', ...session.headers };
    const call = httpRequest(session.url, { method: 'POST', headers, agent: false }, resolve);
    call.on('error', reject);
    call.end(JSON.stringify({ jsonrpc: '2.0', id: 'big', method: 'tools/call', params }));
  });
}

const inFlight = async (): Promise<number> =>
  metricSum(await fetchMetrics(gateway.adminUrl), 'sluice_requests_in_flight', {});

/** Resolves when the gateway has ended by itself. */
const ended = (): Promise<StopResult> => within(gateway.exit, 30_000, 'the end of the gateway');

afterEach(async () => {
  if (gateway.isRunning) await gateway.kill();
});

describe('while a call is in flight', () => {
  beforeEach(() => startWith());

  it('its server request is answered over Streamable HTTP, and new work is refused', async () => {
    const session = await LegacySession.open(gateway.endpoint('one'), {
      capabilities: CAPABILITIES,
    });
    const call = session.beginCall('ask', { v: 'q' });
    const serverRequest = await call.exchange.messages.next(isServerRequest);
    await drain();

    const fresh = await session.post({ jsonrpc: '2.0', id: 'n', method: 'tools/list' }).response();
    expect(fresh.status).toBe(503);
    expect(fresh.headers).toMatchObject({ 'retry-after': '5', connection: 'close' });
    expect(fresh.json()).toMatchObject({ id: 'n', error: DRAINING });
    const opened = await post(gateway.endpoint('one'), initializeRequest()).response();
    expect(opened.status).toBe(503);
    expect(opened.json()).toMatchObject({ id: 0, error: DRAINING });
    const modern = new ModernClient(gateway.endpoint('one'));
    const refused = await modern.whole('tools/list');
    expect(refused.status).toBe(503);
    expect(refused.json()).toMatchObject({ error: DRAINING });

    expect((await session.notify('notifications/x')).status).toBe(202);
    expect((await session.respond(serverRequest.id, YES)).status).toBe(202);
    expect(textOf(await call.answer)).toContain('"answer":"yes"');
    expect(await ended()).toEqual({ code: 0, signal: null });
  });

  it('in a batch too: its server request is answered, and new work refused', async () => {
    const session = await LegacySession.open(gateway.endpoint('one'), {
      version: '2025-03-26',
      capabilities: { elicitation: {} },
    });
    const call = session.beginCall('ask', { v: 'q' });
    const serverRequest = await call.exchange.messages.next(isServerRequest);
    await drain();
    const list = { jsonrpc: '2.0', id: 'n', method: 'tools/list' };
    expect((await session.post([list]).response()).status).toBe(503);
    const mixed = session.post([list, { jsonrpc: '2.0', id: serverRequest.id, result: YES }]);
    expect((await mixed.answer('n')).error).toMatchObject(DRAINING);
    expect(textOf(await call.answer)).toContain('"answer":"yes"');
    expect(await ended()).toEqual({ code: 0, signal: null });
  });

  it('it can be cancelled, and its session ended', async () => {
    const [cancelling, ending] = await Promise.all([
      LegacySession.open(gateway.endpoint('one')),
      LegacySession.open(gateway.endpoint('one')),
    ]);
    const cancelled = cancelling.beginCall('hang');
    ending.beginCall('hang');
    await until(() => one.journal.messages('tools/call').length === 2);
    await drain();
    expect((await cancelling.cancel(cancelled.id)).status).toBe(202);
    await one.journal.waitFor(hasMethod('notifications/cancelled'));
    expect(gateway.isRunning).toBe(true);
    expect((await ending.delete()).status).toBe(200);
    expect(await ended()).toEqual({ code: 0, signal: null });
  });

  it('it goes on where its stream was lost', async () => {
    const session = await LegacySession.open(gateway.endpoint('one'), {
      capabilities: CAPABILITIES,
    });
    const call = session.beginCall('ask', { v: 'q' });
    const serverRequest = await call.exchange.messages.next(isServerRequest);
    const { id: lastId } = await call.exchange.events.next(({ id }) => id !== undefined);
    call.exchange.destroy();
    await drain();
    const stream = session.openStream(lastId);
    expect((await stream.head).status).toBe(200);
    await session.respond(serverRequest.id, YES);
    expect(textOf(await stream.answer(call.id))).toContain('"answer":"yes"');
    expect(await ended()).toEqual({ code: 0, signal: null });
  });

  it('a modern client comes with its next round', async () => {
    const modern = new ModernClient(gateway.endpoint('one'), CAPABILITIES);
    const round = await modern.call('ask', { v: 'q' });
    const [key = ''] = Object.keys(serverRequestsOf(round));
    await drain();
    const answer = await modern.retry('ask', { v: 'q' }, round, { [key]: YES });
    expect(textOf(answer)).toContain('"answer":"yes"');
    expect(await ended()).toEqual({ code: 0, signal: null });
  });

  it.each(['ws', 'sse'] as const)('its server request is answered over %s', async (kind) => {
    const url = gateway.endpoint('one', kind);
    const client = kind === 'ws' ? await WsClient.connect(url) : await SseClient.open(url);
    await client.initialize({ capabilities: CAPABILITIES });
    const { answer } = client.begin('tools/call', { name: 'ask', arguments: { v: 'q' } });
    const serverRequest = await client.messages.next(isServerRequest);
    await drain();
    expect((await client.request('tools/list')).error).toMatchObject(DRAINING);
    expect((await client.request('ping')).result).toEqual({});
    if (kind === 'sse') expect((await send(url)).status).toBe(503);
    else await expect(WsClient.connect(url)).rejects.toThrow('503');
    client.respond(serverRequest.id, YES);
    expect(textOf(await answer)).toContain('"answer":"yes"');
    if (client instanceof WsClient) expect(await client.closed).toBe(1012);
    else await client.stream.events.ended;
    expect(await ended()).toEqual({ code: 0, signal: null });
  });

  it('a modern client on a WebSocket comes with its next round', async () => {
    const ws = await WsClient.connect(gateway.endpoint('one', 'ws'));
    const params = enveloped(
      { name: 'ask', arguments: { v: 'q' } },
      { capabilities: CAPABILITIES },
    );
    const round = await ws.request('tools/call', params);
    const [key = ''] = Object.keys(serverRequestsOf(round));
    await drain();
    expect((await ws.request('tools/list', enveloped())).error).toMatchObject(DRAINING);
    const { requestState } = round.result ?? {};
    const next = { ...params, requestState, inputResponses: { [key]: YES } };
    expect(textOf(await ws.request('tools/call', next))).toContain('"answer":"yes"');
    expect(await ws.closed).toBe(1012);
    expect(await ended()).toEqual({ code: 0, signal: null });
  });

  it('connections that nobody uses are closed', async () => {
    const session = await LegacySession.open(gateway.endpoint('one'));
    const call = session.beginCall('hang');
    await one.journal.waitFor(hasMethod('tools/call'));
    const agent = new Agent({ keepAlive: true });
    const closed = new Promise<void>((resolve, reject) => {
      const idle = httpRequest(`${gateway.url}/nowhere`, { agent }, (response) => {
        response.resume().socket.once('close', resolve);
      });
      idle.on('error', reject).end();
    });
    await until(() => Object.keys(agent.freeSockets).length === 1);
    await drain();
    await within(closed, 10_000, 'end of the idle connection');
    expect(gateway.isRunning).toBe(true);
    await session.cancel(call.id);
    expect(await ended()).toEqual({ code: 0, signal: null });
  });
});

describe('the end of the drain', () => {
  it('is at once where nothing is in flight, open streams or not', async () => {
    await startWith({ drain: '10m' });
    const session = await LegacySession.open(gateway.endpoint('one'));
    const stream = session.openStream();
    await stream.head;
    const modern = new ModernClient(gateway.endpoint('one'));
    const listen = await modern.listen({ toolsListChanged: true });
    gateway.signal('SIGTERM');
    await stream.events.ended;
    await listen.events.ended;
    expect(await ended()).toEqual({ code: 0, signal: null });
  });

  it('waits for an answer that is still on its way', async () => {
    await startWith();
    const session = await LegacySession.open(gateway.endpoint('one'));
    const response = await unread(session, 'big', { n: 15_000_000 });
    await until(async () => (await inFlight()) === 0);
    await drain();
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += chunk;
    expect(textOf(parseMessage(text))).toHaveLength(15_000_000);
    expect(await ended()).toEqual({ code: 0, signal: null });
  });

  it('is at the deadline where a call does not end, which fails', async () => {
    await startWith({ drain: '300ms' });
    const session = await LegacySession.open(gateway.endpoint('one'));
    const call = session.beginCall('hang');
    await one.journal.waitFor(hasMethod('tools/call'));
    gateway.signal('SIGTERM');
    expect((await call.answer).error).toMatchObject({
      data: { reason: 'draining', outcome: 'unknown' },
    });
    expect(await ended()).toEqual({ code: 0, signal: null });
  });

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGQUIT', 131],
  ] as const)('is at once with a second signal, %s, and the status is %i', async (second, code) => {
    one = scriptedServer({ args: ['--ignore-eof', '--ignore-term', '--grandchild'] });
    gateway = await startGateway({
      ownProcess: true,
      servers: { one: one.config },
      config: { drain: '10m' },
    });
    const session = await LegacySession.open(gateway.endpoint('one'));
    session.beginCall('hang');
    await one.journal.waitFor(hasMethod('tools/call'));
    const children = descendants(gateway.pid).map(({ pid }) => pid);
    await drain();
    gateway.signal(second);
    expect(await ended()).toEqual({ code, signal: null });
    await waitGone(children);
    expect(children.filter(isAlive)).toEqual([]);
  });

  it('comes before the start, where the signal did', async () => {
    one = scriptedServer({ args: ['--init-delay', '60000'] });
    gateway = await startGateway({ servers: { one: one.config }, waitReady: false });
    await one.journal.waitFor(hasMethod('initialize'));
    gateway.signal('SIGTERM');
    expect(await ended()).toEqual({ code: 0, signal: null });
    const log = gateway.logs();
    expect(log.filter(({ msg }) => msg === 'ready')).toEqual([]);
    expect(log.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);
  });
});
