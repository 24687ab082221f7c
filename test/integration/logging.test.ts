/**
 * Log messages of a shared server: one level upstream, a level for each session, and nobody reads what
 * belongs to another client's call.
 */
import { describe, expect, it } from 'vitest';
import { scriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useGateway, useScripted } from '../support/use-gateway.ts';
import { hasMethod, type WireMessage } from '../support/wire-message.ts';

const MESSAGE = 'notifications/message';
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

const dataOf = (messages: readonly WireMessage[]): unknown[] =>
  messages.filter(hasMethod(MESSAGE)).map(({ params }) => params?.['data']);

describe('on a shared server', () => {
  const { harness, journal } = useScripted();
  const levels = (): unknown[] =>
    journal.messages('logging/setLevel').map(({ params }) => params?.['level']);

  it('GW-093 the most verbose level goes upstream, and only when it changes', async () => {
    const before = levels().length;
    const first = await harness.webSocket();
    const second = await harness.webSocket();
    for (const [client, level] of [
      [first, 'error'],
      [second, 'debug'],
      [first, 'warning'],
      [second, 'debug'],
    ] as const) {
      expect((await client.request('logging/setLevel', { level })).result).toEqual({});
    }
    expect(levels().slice(before)).toEqual(['error', 'debug']);
    await second.close();
    await until(() => levels().at(-1) === 'warning', { what: 'the level of who is left' });
    expect(levels().slice(before)).toEqual(['error', 'debug', 'warning']);
  });

  it('GW-093 a session gets only what its own level lets through', async () => {
    const strict = await harness.webSocket();
    const verbose = await harness.webSocket();
    await strict.request('logging/setLevel', { level: 'error' });
    await verbose.request('logging/setLevel', { level: 'debug' });
    for (const client of [strict, verbose]) {
      for (const level of LEVELS) await client.call('log', { level, v: level });
    }
    expect(dataOf(strict.messages.all)).toEqual(LEVELS.slice(LEVELS.indexOf('error')));
    expect(dataOf(verbose.messages.all)).toEqual(LEVELS);
  });

  it('GW-093 a session that set no level gets info and above', async () => {
    const verbose = await harness.webSocket();
    await verbose.request('logging/setLevel', { level: 'debug' });
    const silent = await harness.webSocket();
    for (const level of LEVELS) await silent.call('log', { level, v: level });
    expect(dataOf(silent.messages.all)).toEqual(LEVELS.slice(1));
  });

  it('GW-094 a level that is none is -32602, and nothing is forwarded', async () => {
    const session = await harness.session();
    const before = levels().length;
    for (const level of ['loud', 'DEBUG', '', 7, null, undefined]) {
      const answer = await session.request('logging/setLevel', { level });
      expect(answer.error?.code).toBe(-32602);
    }
    expect(levels()).toHaveLength(before);
  });

  it('a message of the only client that is calling reaches it alone, on its call (trial 48)', async () => {
    const a = await harness.session();
    const stream = a.openStream();
    await stream.head;
    const ws = await harness.webSocket();
    const sse = await harness.sse();
    const pending = a.beginCall('log', { v: 'A-only', level: 'error' });
    await pending.answer;
    expect(dataOf(pending.exchange.messages.all)).toEqual(['A-only']);
    for (const client of [ws, sse]) await client.request('ping');
    for (const client of [ws, sse, stream]) expect(dataOf(client.messages.all)).toEqual([]);
  });

  it('a message during calls of two clients goes to both: both are anonymous', async () => {
    const a = await harness.webSocket();
    const b = await harness.webSocket();
    const waiting = a.begin('tools/call', { name: 'hold', arguments: { key: 'log' } });
    await journal.waitForEvent('held:log');
    await b.call('log', { v: 'whose?', level: 'error' });
    await b.call('release', { key: 'log' });
    await waiting.answer;
    for (const client of [a, b]) expect(dataOf(client.messages.all)).toEqual(['whose?']);
  });
});

describe('on a server without logging', () => {
  const server = scriptedServer({ args: ['--caps', '{"tools":{}}'] });
  const harness = useGateway(() => ({ servers: { one: server.config } }));

  it('setLevel is -32601, and the client is not told that there is logging', async () => {
    const session = await harness.session();
    expect(session.initializeAnswer.result?.['capabilities']).toEqual({ tools: {} });
    const answer = await session.request('logging/setLevel', { level: 'info' });
    expect(answer.error?.code).toBe(-32601);
    expect(server.journal.messages('logging/setLevel')).toEqual([]);
  });
});

describe('on a private server', () => {
  const server = scriptedServer({ config: { sharing: 'session' } });
  const harness = useGateway(() => ({ servers: { one: server.config } }));

  it('GW-093 without a level everything comes that the server sends, to its own client', async () => {
    const a = await harness.webSocket();
    const b = await harness.webSocket();
    for (const level of LEVELS) await a.call('log', { level, v: level });
    await b.request('ping');
    expect(dataOf(a.messages.all)).toEqual(LEVELS);
    expect(dataOf(b.messages.all)).toEqual([]);
  });
});
