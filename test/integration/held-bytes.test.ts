/**
 * What is held for clients has one limit, whatever it is and whichever way it came; beyond it a client is
 * told so, or is not read, and what is held is shown.
 */

import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { deafPost } from '../support/deaf-post.ts';
import { POST_HEADERS, post } from '../support/http-client.ts';
import { fetchMetrics, metricSum } from '../support/metrics.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { type GatewayUnderTest, useScripted } from '../support/use-gateway.ts';
import { hasMethod, textOf } from '../support/wire-message.ts';
import { WsClient } from '../support/ws-client.ts';

const MIB = 1024 ** 2;

async function heldOf(harness: GatewayUnderTest, kind?: string): Promise<number> {
  const samples = await fetchMetrics(harness.gateway.adminUrl);
  return metricSum(samples, 'sluice_held_bytes', kind === undefined ? {} : { kind });
}

describe('messages that are not whole yet', () => {
  const { harness, journal } = useScripted(scriptedServer(), {
    listen: { maxBody: '4MiB' },
    config: { limits: { heldBytes: '9MiB' } },
  });
  const textOfCall = (id: string, pad: number): string =>
    JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'echo', arguments: { v: id, pad: 'x'.repeat(pad) } },
    });

  it('hold room for all of them; more are not read until one is whole, and POSTs are refused', async () => {
    const [a, b, c] = [
      await harness.webSocket(),
      await harness.webSocket(),
      await harness.webSocket(),
    ];
    const texts = { a: textOfCall('a', 300_000), b: textOfCall('b', 300_000) };
    a.socket.send(texts.a.slice(0, 200_000), { fin: false });
    b.socket.send(texts.b.slice(0, 200_000), { fin: false });
    await until(async () => (await heldOf(harness, 'body')) === 8 * MIB);
    c.sendText(textOfCall('c', 300_000));
    const refused = await post(harness.url(), textOfCall('d', 2 * MIB)).response();
    expect(refused.status).toBe(503);
    expect(JSON.parse(refused.text)).toMatchObject({ error: { data: { reason: 'overloaded' } } });
    const samples = await fetchMetrics(harness.gateway.adminUrl);
    expect(metricSum(samples, 'sluice_rejected_total', { reason: 'held_bytes' })).toBe(1);
    expect(journal.messages('tools/call')).toEqual([]);
    a.socket.send(texts.a.slice(200_000), { fin: true });
    const answered = await a.messages.next(({ id }) => id === 'a');
    expect(textOf(answered)).toContain('"v":"a"');
    expect(textOf(await c.messages.next(({ id }) => id === 'c'))).toContain('"v":"c"');
    await b.terminate();
  });
});

describe('messages that come before the session is there', () => {
  const { harness } = useScripted(
    scriptedServer({ args: ['--init-delay', '1500'], config: { sharing: 'session' } }),
  );

  it('are not read from a WebSocket: they wait at the client, and are answered then', async () => {
    const client = harness.track(await WsClient.connect(harness.gateway.endpoint('one', 'ws')));
    const pad = 'x'.repeat(MIB);
    const opened = client.messages.next(({ id }) => id === 0);
    const waiting = opened.then(() => client.socket.bufferedAmount);
    client.begin('initialize', initializeParams(), 0);
    const pings = Array.from({ length: 24 }, () => client.request('ping', { pad }));
    expect(await waiting).toBeGreaterThan(4 * MIB);
    for (const ping of pings) expect((await ping).result).toEqual({});
  });
});

describe('answers that are not read', () => {
  const { harness } = useScripted(scriptedServer(), {
    config: { limits: { heldBytes: '48MiB' } },
  });
  const LARGE = { name: 'big', arguments: { n: 14_000_000 } };

  async function slowConsumers(): Promise<number> {
    const samples = await fetchMetrics(harness.gateway.adminUrl);
    return metricSum(samples, 'sluice_slow_consumers_total');
  }

  it('cost the slowest their connections, and nobody else anything', async () => {
    const session = await harness.session();
    const beside = await harness.webSocket();
    const body = JSON.stringify({ jsonrpc: '2.0', id: 'l', method: 'tools/call', params: LARGE });
    const headers = { ...POST_HEADERS, ...session.headers, accept: 'application/json' };
    const deaf: Socket[] = [];
    for (let at = 1; at <= 9; at++) {
      deaf.push(await deafPost(session.url, headers, body));
      // What the system takes off the gateway's hands is some megabytes.
      await until(async () => (await heldOf(harness, 'call')) === 0, { timeoutMs: 40_000 });
      expect(await heldOf(harness)).toBeLessThanOrEqual(48 * MIB);
      expect(textOf(await beside.call('echo', {}))).toBe('{}');
    }
    expect(await slowConsumers()).toBeGreaterThanOrEqual(5);
    const samples = await fetchMetrics(harness.gateway.adminUrl);
    const cuts = metricSum(samples, 'sluice_held_bytes_cut_total', { kind: 'unread' });
    expect(cuts).toBe(await slowConsumers());
    const whole = await session.call('big', LARGE.arguments);
    expect(textOf(whole)).toHaveLength(14_000_000);
    for (const socket of deaf) socket.destroy();
    await until(async () => (await heldOf(harness, 'unread')) === 0);
  });
});

describe('a request in flight', () => {
  const { harness, journal } = useScripted();

  it('is shown on every transport until it is over', async () => {
    const pad = 'x'.repeat(300_000);
    const session = await harness.session();
    const { ws, sse } = await harness.channels();
    const open = [
      session.beginCall('hold', { key: 'k0', pad }),
      ws.begin('tools/call', { name: 'hold', arguments: { key: 'k1', pad } }),
      sse.begin('tools/call', { name: 'hold', arguments: { key: 'k2', pad } }),
    ];
    for (const at of [0, 1, 2]) await journal.waitForEvent(`held:k${at}`);
    expect(await heldOf(harness, 'call')).toBeGreaterThan(900_000);
    expect(await heldOf(harness, 'body')).toBe(0);
    for (const at of [0, 1, 2]) await ws.call('release', { key: `k${at}` });
    for (const { answer } of open) await answer;
    await until(async () => (await heldOf(harness, 'call')) === 0);
    expect(journal.messages().filter(hasMethod('notifications/cancelled'))).toEqual([]);
  });
});

const initializeParams = (): { readonly [member: string]: unknown } => ({
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'c', version: '0' },
});
