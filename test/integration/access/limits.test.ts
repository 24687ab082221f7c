/**
 * How much one client may ask for, and that nobody else pays for it.
 */
import { describe, expect, it } from 'vitest';
import { TestKeys } from '../../support/api-keys.ts';
import { HttpExchange, post } from '../../support/http-client.ts';
import { initializeRequest, LegacySession } from '../../support/legacy-session.ts';
import { fetchMetrics, metricSum } from '../../support/metrics.ts';
import { ModernClient } from '../../support/modern-client.ts';
import { scriptedServer } from '../../support/scripted-server.ts';
import { until } from '../../support/until.ts';
import { useScripted } from '../../support/use-gateway.ts';

const keys = new TestKeys();
for (const name of [
  'greedy',
  'modest',
  'quick',
  'chatty',
  'wide',
  'calm',
  'bulky',
  'bulky-ws',
  'busy',
])
  keys.add(name);
const { harness } = useScripted(scriptedServer(), {
  config: {
    auth: { keys: { file: keys.file }, allow: [{ servers: ['*'] }] },
    limits: { requestsPerSecond: 20, callsPerPrincipal: 3, streamsPerPrincipal: 2 },
    sessions: { maxPerPrincipal: 2 },
  },
});

const open = async (name: string): Promise<LegacySession> =>
  harness.track(await LegacySession.open(harness.url(), { headers: keys.headers(name) }));

describe('one client', () => {
  it('comes back as often as it likes: its session that was unused for longest makes room', async () => {
    const [first, second] = [await open('greedy'), await open('greedy')];
    const others = await open('modest');
    await first?.call('echo', {});
    const third = await open('greedy');
    expect((await second?.begin('ping').exchange.head)?.status).toBe(404);
    expect(await first?.call('echo', {})).toHaveProperty('result');
    expect(await third.call('echo', {})).toHaveProperty('result');
    expect(await others.call('echo', {})).toHaveProperty('result');
    for (let at = 0; at < 10; at++) await open('greedy');
    const metrics = await fetchMetrics(harness.gateway.adminUrl);
    const displaced = { limit: 'sessions.maxPerPrincipal' };
    expect(metricSum(metrics, 'sluice_sessions_displaced_total', displaced)).toBe(11);
    await harness.gateway.waitForLog((line) =>
      String(line['msg']).includes('unused sessions ended'),
    );
  });

  it('may have so many sessions with a stream or a call, and gets the place of one that ended', async () => {
    const [listening, calling] = [await open('busy'), await open('busy')];
    const stream = listening.openStream();
    expect((await stream.head).status).toBe(200);
    const held = calling.beginCall('hold', { key: 'busy' });
    await until(async () => {
      const metrics = await fetchMetrics(harness.gateway.adminUrl);
      return metricSum(metrics, 'sluice_requests_in_flight') > 0;
    });
    const refused = await post(harness.url(), initializeRequest(), keys.headers('busy')).response();
    expect(refused.status).toBe(429);
    expect(refused.headers['retry-after']).toBeDefined();
    expect(refused.json()).toMatchObject({
      error: { code: -32603, data: { reason: 'rate_limited', outcome: 'not_sent' } },
    });
    await open('modest');
    await calling.delete();
    await open('busy');
    held.exchange.destroy();
  });

  it('GW-157 may have so many streams open; those that are go on', async () => {
    const session = await open('wide');
    const stream = session.openStream();
    expect((await stream.head).status).toBe(200);
    const ws = await harness.webSocket({}, { headers: keys.headers('wide') });
    const third = session.openStream();
    expect((await third.head).status).toBe(429);
    await expect(harness.webSocket({}, { headers: keys.headers('wide') })).rejects.toThrow('429');
    const events = { ...keys.headers('wide'), accept: 'text/event-stream' };
    const fourth = new HttpExchange(harness.gateway.endpoint('one', 'sse'), { headers: events });
    expect((await fourth.head).status).toBe(429);
    expect((await ws.request('ping')).result).toEqual({});
    expect((await (await open('modest')).openStream().head).status).toBe(200);
  });

  it('G10 may send so many requests a second, then gets 429; others do not', async () => {
    const client = harness.track(new ModernClient(harness.url()));
    const heads = Array.from({ length: 60 }, () => {
      const { exchange } = client.begin('server/discover', {}, { headers: keys.headers('quick') });
      return exchange.head;
    });
    const statuses = (await Promise.all(heads)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(40);
    expect(statuses).toContain(429);
    const headers = keys.headers('calm');
    expect((await client.whole('server/discover', {}, { headers })).status).toBe(200);
  });

  it('G10 may send so many messages a second on a WebSocket', async () => {
    const ws = await harness.webSocket({}, { headers: keys.headers('chatty') });
    const answers = await Promise.all(Array.from({ length: 80 }, () => ws.request('ping')));
    const refused = answers.filter(({ error }) => error !== undefined);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThan(80);
    for (const { error } of refused) {
      expect(error).toMatchObject({ code: -32603, data: { reason: 'rate_limited' } });
    }
    await until(async () => (await ws.request('ping')).error === undefined);
  });

  it('G10 each message of a batch counts', async () => {
    const headers = keys.headers('bulky');
    const version = '2025-03-26';
    const batch = Array.from({ length: 60 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }));
    const session = harness.track(await LegacySession.open(harness.url(), { headers, version }));
    expect((await session.post(batch).head).status).toBe(200);
    expect((await session.begin('ping').exchange.head).status).toBe(429);
    const ws = await harness.webSocket({ version }, { headers: keys.headers('bulky-ws') });
    ws.send(batch as never);
    const isRefused = ({ error }: { readonly error?: unknown }): boolean => error !== undefined;
    expect(isRefused(await ws.request('ping', undefined, 'after'))).toBe(true);
  });

  it('may have so many calls in flight, over all of its connections', async () => {
    const client = harness.track(new ModernClient(harness.url()));
    const headers = keys.headers('modest');
    const ws = await harness.webSocket({}, { headers });
    const session = await open('modest');
    const waiting = ['a', 'b', 'c'].map((key) => session.beginCall('hold', { key }));
    await until(async () => {
      const samples = await fetchMetrics(harness.gateway.adminUrl);
      return metricSum(samples, 'sluice_requests_in_flight') === 3;
    });
    const refused = await client.begin('server/discover', {}, { headers }).exchange.head;
    expect(refused.status).toBe(429);
    const { error } = await ws.request('tools/list');
    expect(error).toMatchObject({ code: -32603, data: { reason: 'rate_limited' } });
    const calm = await client.begin('server/discover', {}, { headers: keys.headers('calm') });
    expect((await calm.exchange.head).status).toBe(200);
    expect(waiting).toHaveLength(3);
    await session.delete();
    expect((await ws.request('ping')).result).toEqual({});
  });
});

it('counts whom it let in, and what it refused', async () => {
  const samples = await fetchMetrics(harness.gateway.adminUrl);
  expect(metricSum(samples, 'sluice_auth_total', { outcome: 'throttled' })).toBeGreaterThan(0);
  const admitted = metricSum(samples, 'sluice_auth_total', { outcome: 'ok' });
  expect(admitted).toBeGreaterThan(40);
  const again = await fetchMetrics(harness.gateway.adminUrl);
  expect(metricSum(again, 'sluice_auth_total', { outcome: 'ok' })).toBe(admitted);
});
