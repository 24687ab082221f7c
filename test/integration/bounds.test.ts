/**
 * Bounds: every wait and every buffer has a limit, whoever is over it gets one typed error or loses one
 * stream, and nobody else notices.
 */
import { describe, expect, it } from 'vitest';
import type { ChannelClient } from '../support/channel-client.ts';
import { post } from '../support/http-client.ts';
import { initializeRequest } from '../support/legacy-session.ts';
import { fetchMetrics, metricSum } from '../support/metrics.ts';
import { type Journal, scriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useGateway, useScripted } from '../support/use-gateway.ts';
import { answers, hasMethod, textOf, type WireMessage } from '../support/wire-message.ts';
import { WsClient } from '../support/ws-client.ts';

const CANCELLED = 'notifications/cancelled';

/** The error that the gateway makes itself. */
const failure = (reason: string, outcome: string, server = 'one'): unknown => ({
  code: -32603,
  data: { reason, outcome, server },
});

const upstreamOf = async (journal: Journal, part: string): Promise<WireMessage> =>
  await journal.waitFor(({ raw, method }) => method === 'tools/call' && raw.includes(part));

describe('a server that is full', () => {
  const one = scriptedServer({
    config: { limits: { inFlight: 2, queue: 2 }, timeouts: { queue: '1500ms' } },
  });
  const other = scriptedServer();
  const harness = useGateway(() => ({ servers: { one: one.config, other: other.config } }));
  const { journal } = one;

  it('queues calls, refuses those beyond the queue, and times the queued ones out: not_sent', async () => {
    const clients = [await harness.webSocket(), await harness.webSocket()] as const;
    const held = clients.map((client, i) => client.call('hold', { key: `full-${i}` }));
    for (const i of [0, 1]) await journal.waitForEvent(`held:full-${i}`);
    const queued = clients.map((client, i) => client.call('echo', { queued: i }));
    await until(async () => {
      const samples = await fetchMetrics(harness.gateway.adminUrl);
      return metricSum(samples, 'sluice_queue_depth', { server: 'one' }) === 2;
    });
    for (const client of clients) {
      const refused = await client.call('echo', { refused: true });
      expect(refused.error).toMatchObject(failure('overloaded', 'not_sent') as object);
    }
    const beside = await harness.session({ server: 'other' });
    expect(textOf(await beside.call('echo', {}))).toBe('{}');
    for (const answer of await Promise.all(queued)) {
      expect(answer.error).toMatchObject(failure('queue_timeout', 'not_sent') as object);
    }
    expect(journal.messages().some(({ raw }) => /queued|refused/.test(raw))).toBe(false);
    for (const i of [0, 1]) clients[0].notify(CANCELLED, { requestId: 99 + i });
    expect(held).toHaveLength(2);
  });

  it('takes queued calls as soon as there is room, in their order', async () => {
    const [a, b] = [await harness.webSocket(), await harness.webSocket()];
    const held = [a, b].map((client, i) =>
      client.begin('tools/call', { name: 'hold', arguments: { key: `room-${i}` } }, `h${i}`),
    );
    for (const i of [0, 1]) await journal.waitForEvent(`held:room-${i}`);
    const first = a.call('echo', { order: 1 });
    const second = a.call('echo', { order: 2 });
    await a.request('ping');
    b.notify(CANCELLED, { requestId: 'h1' });
    expect(textOf(await first)).toBe('{"order":1}');
    expect(textOf(await second)).toBe('{"order":2}');
    a.notify(CANCELLED, { requestId: 'h0' });
    const order = journal.messages().filter(({ raw }) => raw.includes('"order"'));
    expect(order.map(({ raw }) => /"order":(\d)/.exec(raw)?.[1])).toEqual(['1', '2']);
    expect(held).toHaveLength(2);
  });

  it('never hears of a queued call that was cancelled', async () => {
    const [a, b] = [await harness.webSocket(), await harness.webSocket()];
    for (const [i, client] of [a, b].entries()) {
      client.begin('tools/call', { name: 'hold', arguments: { key: `quiet-${i}` } }, `h${i}`);
      await journal.waitForEvent(`held:quiet-${i}`);
    }
    a.begin('tools/call', { name: 'echo', arguments: { never: 'sent' } }, 'q');
    await a.request('ping');
    const before = journal.messages(CANCELLED).length;
    a.notify(CANCELLED, { requestId: 'q' });
    b.notify(CANCELLED, { requestId: 'h1' });
    await b.request('ping');
    a.notify(CANCELLED, { requestId: 'h0' });
    await a.call('echo', {});
    expect(journal.messages().some(({ raw }) => raw.includes('"never"'))).toBe(false);
    expect(journal.messages(CANCELLED)).toHaveLength(before + 2);
    expect(a.messages.all.filter(answers('q'))).toEqual([]);
  });
});

describe('a server that reads no more', () => {
  const one = scriptedServer({
    config: { timeouts: { request: '2s', queue: '300ms', stop: '300ms' } },
  });
  const other = scriptedServer();
  const harness = useGateway(() => ({ servers: { one: one.config, other: other.config } }));

  it('fills its queue, then callers get queue_timeout; others go on, memory stays', async () => {
    const ws = await harness.webSocket();
    const beside = await harness.session({ server: 'other' });
    await ws.call('stop_reading');
    const pad = 'x'.repeat(1_000_000);
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => ws.call('echo', { pad }).then(({ error }) => error?.data)),
    );
    const reasons = outcomes.map((data) => data?.['reason']);
    expect(reasons).toContain('queue_timeout');
    for (const data of outcomes) {
      expect(['queue_timeout', 'server_timeout']).toContain(data?.['reason']);
      expect(data?.['outcome']).toBe(data?.['reason'] === 'queue_timeout' ? 'not_sent' : 'unknown');
    }
    // What was written before the pipe was full is a few messages, not all of them.
    expect(reasons.filter((reason) => reason === 'server_timeout').length).toBeLessThan(10);
    expect(textOf(await beside.call('echo', {}))).toBe('{}');
  });
});

describe('a server that answers too late or too much', () => {
  const one = scriptedServer({
    config: {
      limits: { message: '64KiB' },
      timeouts: { request: '700ms', requestMax: '2s' },
    },
  });
  const harness = useGateway(() => ({ servers: { one: one.config } }));
  const { journal } = one;

  it('server_timeout: the server is told to cancel, the slot is free, the late answer dropped (trial 85)', async () => {
    const ws = await harness.webSocket();
    const session = await harness.session();
    const answer = ws.call('hold', { key: 'late', ignoreCancel: true }, 'late');
    const upstream = await upstreamOf(journal, '"late"');
    expect((await answer).error).toMatchObject(failure('server_timeout', 'unknown') as object);
    await journal.waitFor(
      ({ method, params }) => method === CANCELLED && params?.['requestId'] === upstream.id,
    );
    const samples = await fetchMetrics(harness.gateway.adminUrl);
    expect(metricSum(samples, 'sluice_requests_in_flight')).toBe(0);
    expect(textOf(await ws.call('release', { key: 'late' }))).toBe('released');
    expect(ws.messages.all.filter(answers('late'))).toHaveLength(1);
    const overHttp = session.beginCall('hang');
    expect((await overHttp.answer).error?.data?.['reason']).toBe('server_timeout');
    expect((await overHttp.exchange.head).status).toBe(200);
  });

  it('progress puts the limit off, up to the hard maximum', async () => {
    const session = await harness.session();
    const meta = { progressToken: 1 };
    const patient = await session.call('progress', { ms: 300, count: 5, v: 'done' }, { meta });
    expect(textOf(patient)).toBe('done');
    const endless = await session.call('progress', { ms: 300, count: 50 }, { meta });
    expect(endless.error?.data?.['reason']).toBe('server_timeout');
  });

  it('a server request that a human answers slowly does not count', async () => {
    const ws = await harness.webSocket({ capabilities: { elicitation: {} } });
    const answer = ws.call('ask', {});
    const serverRequest = await ws.messages.next(hasMethod('elicitation/create'));
    const beside = await harness.session();
    expect((await beside.call('hang')).error?.data?.['reason']).toBe('server_timeout');
    ws.respond(serverRequest.id, { action: 'accept', content: {} });
    expect(textOf(await answer)).toContain('accept');
  });

  it('response_too_large: only that call fails, the next ones work on the same process', async () => {
    const ws = await harness.webSocket();
    const session = await harness.session();
    const pid = textOf(await session.call('pid'));
    const beside = session.call('slow', { ms: 300, v: 'beside' });
    const { error } = await ws.call('big', { n: 500_000 });
    expect(error).toMatchObject(failure('response_too_large', 'unknown') as object);
    expect(error?.message).toContain('limits.message');
    expect(textOf(await ws.call('big', { n: 60_000 }))).toHaveLength(60_000);
    expect(textOf(await beside)).toBe('beside');
    expect(textOf(await session.call('pid'))).toBe(pid);
  });

  it('response_too_large again and again: the server is started anew', async () => {
    const ws = await harness.webSocket();
    const pid = textOf(await ws.call('pid'));
    for (let i = 0; i < 6; i++) {
      const { error } = await ws.call('big', { n: 200_000 });
      expect(['response_too_large', 'server_exited']).toContain(error?.data?.['reason']);
    }
    expect(textOf(await ws.call('pid'))).not.toBe(pid);
    const samples = await fetchMetrics(harness.gateway.adminUrl);
    const restarts = { reason: 'protocol_violations' };
    expect(metricSum(samples, 'sluice_server_restarts_total', restarts)).toBeGreaterThan(0);
  });
});

describe('a server that is noisy', () => {
  const { harness, journal } = useScripted();

  /** Has the server write any answer to the very call that asks for it. */
  async function answerWith(client: ChannelClient, rest: string): Promise<WireMessage> {
    await client.call('echo', {});
    const last = Number(journal.messages().at(-1)?.id);
    const text = `{"jsonrpc":"2.0","id":${last + 1},${rest}}\n`;
    return await client.call('write', { text, answer: false });
  }

  it('with an answer that is none fails that call at once', async () => {
    const ws = await harness.webSocket();
    const { error } = await ws.call('both');
    expect(error).toMatchObject(failure('server_protocol_error', 'unknown') as object);
    expect(textOf(await ws.call('echo', {}))).toBe('{}');
  });

  it('with an answer nested 100 000 deep fails that call, and lives on', async () => {
    const ws = await harness.webSocket();
    const deep = `"result":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    const { error } = await answerWith(ws, deep);
    expect(error?.data?.['reason']).toBe('server_protocol_error');
    expect(textOf(await ws.call('echo', {}))).toBe('{}');
  });

  it('with an answer that breaks off, or is no UTF-8, or two on one line, fails that call', async () => {
    const ws = await harness.webSocket();
    for (const rest of [
      '"result":{"a":[1,}',
      '"result":{}}{"jsonrpc":"2.0"',
      '"error":{"code":nope}',
    ]) {
      const { error } = await answerWith(ws, rest);
      expect(error?.data?.['reason']).toBe('server_protocol_error');
    }
    await ws.call('echo', {});
    const id = Number(journal.messages().at(-1)?.id) + 1;
    const text = Buffer.concat([
      Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{"a":"`),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('"}}\n'),
    ]);
    const { error } = await ws.call('write', { base64: text.toString('base64'), answer: false });
    expect(error?.data?.['reason']).toBe('server_protocol_error');
    expect(textOf(await ws.call('echo', {}))).toBe('{}');
  });

  it('with a broken server request that has the id of a call leaves that call alone', async () => {
    const ws = await harness.webSocket();
    await ws.call('echo', {});
    const id = Number(journal.messages().at(-1)?.id) + 1;
    const text = `{"jsonrpc":"2.0","id":${id},"method":"ping","params":{"a":[}}\n`;
    expect(textOf(await ws.call('write', { text }))).toBe('written');
  });

  it('on stderr is drained, its log is bounded', async () => {
    const ws = await harness.webSocket();
    expect(textOf(await ws.call('stderr', { n: 3_000_000 }))).toBe('written');
    // Lines are dropped until the second of the flood is over.
    await until(async () => {
      await ws.call('stderr', { text: `${'y'.repeat(1_000_000)}\n` });
      return harness.gateway.logs().some(({ line }) => String(line).startsWith('yyy'));
    });
    const lines = harness.gateway.logs().filter(({ line }) => typeof line === 'string');
    expect(lines.filter(({ line }) => String(line).startsWith('eee')).length).toBeLessThan(5_000);
    for (const { line } of lines) expect(String(line).length).toBeLessThanOrEqual(16 * 1024);
    const dropped = harness.gateway.logs().filter((line) => Number(line['dropped']) > 0);
    expect(dropped.length).toBeGreaterThan(0);
  });

  it('with a log in JSON on stdout is not restarted for it (trial 60)', async () => {
    const ws = await harness.webSocket();
    const pid = textOf(await ws.call('pid'));
    const log =
      '{"level":30,"time":1,"msg":"handled"}\n[1,2]\n{"jsonrpc":"2.0","id":null}\n"x"\n1\n';
    expect(textOf(await ws.call('write', { text: log.repeat(200) }))).toBe('written');
    expect(textOf(await ws.call('pid'))).toBe(pid);
  });

  it('on stdout, with no newline in 1 MB, costs nothing but that line', async () => {
    const ws = await harness.webSocket();
    expect(textOf(await ws.call('write', { text: `${'z'.repeat(1_000_000)}\n` }))).toBe('written');
    expect(textOf(await ws.call('echo', {}))).toBe('{}');
  });

  it('with 20 000 notifications that nobody asked for still answers', async () => {
    const ws = await harness.webSocket();
    const beside = await harness.session();
    const line =
      '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:y"}}\n';
    const flood = ws.call('write', { text: line.repeat(20_000) });
    expect(textOf(await beside.call('echo', {}))).toBe('{}');
    expect(textOf(await flood)).toBe('written');
    const samples = await fetchMetrics(harness.gateway.adminUrl);
    const withheld = { reason: 'not_subscribed' };
    expect(metricSum(samples, 'sluice_notifications_withheld_total', withheld)).toBe(20_000);
  });
});

describe('a session', () => {
  const { harness, journal } = useScripted(scriptedServer(), {
    config: { sessions: { maxInFlight: 2 } },
  });

  it('has as many calls in flight as sessions.maxInFlight says', async () => {
    const session = await harness.session();
    for (const full of [1, 2]) session.beginCall('hang', { full });
    await until(() => journal.messages().filter(({ raw }) => raw.includes('"full"')).length === 2);
    const { error } = await session.call('echo', {});
    expect(error?.message).toContain('has 2 requests in flight already (sessions.maxInFlight)');
  });
});

describe('clients', () => {
  const { harness, journal } = useScripted(scriptedServer(), { config: { sessions: { max: 3 } } });

  it('with 64 calls in flight get overloaded for the next, other clients nothing of it', async () => {
    const ws = await harness.webSocket();
    const beside = await harness.session();
    for (let i = 0; i < 64; i++) ws.begin('tools/call', { name: 'hang', arguments: { full: i } });
    await until(() => journal.messages().filter(({ raw }) => raw.includes('"full"')).length === 64);
    const { error } = await ws.call('echo', {});
    expect(error).toMatchObject({
      code: -32603,
      data: { reason: 'overloaded', outcome: 'not_sent' },
      message: expect.stringContaining('sessions.maxInFlight'),
    });
    expect((await ws.request('ping')).id).toBeDefined();
    expect(textOf(await beside.call('echo', {}))).toBe('{}');
  });

  it('beyond sessions.max are refused with 503 and Retry-After, and served once there is room', async () => {
    const sessions = [await harness.session(), await harness.session()] as const;
    await harness.webSocket();
    // One without a stream would give way.
    for (const session of sessions) await session.openStream().head;
    const refused = await post(harness.url(), initializeRequest()).response();
    expect(refused.status).toBe(503);
    expect(refused.headers['retry-after']).toMatch(/^\d+$/);
    expect(refused.json()).toMatchObject({ error: { code: expect.any(Number) } });
    const ws = await WsClient.connect(harness.gateway.endpoint('one', 'ws'));
    expect((await ws.initialize()).error?.data?.['reason']).toBe('overloaded');
    await ws.close();
    await sessions[0].delete();
    expect(textOf(await (await harness.session()).call('echo', {}))).toBe('{}');
  });
});
