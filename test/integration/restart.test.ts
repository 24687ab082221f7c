/**
 * Death of a server: its own callers get one typed error at once, nobody else notices, and what comes
 * next finds a new process that knows what the old one was told.
 */
import { describe, expect, it } from 'vitest';
import { send } from '../support/http-client.ts';
import { fetchMetrics, metricSum } from '../support/metrics.ts';
import { isAlive, waitGone } from '../support/processes.ts';
import { type Journal, scriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useGateway, useScripted } from '../support/use-gateway.ts';
import { hasMethod, textOf, type WireMessage } from '../support/wire-message.ts';

const LIST_CHANGED = 'notifications/tools/list_changed';
const UPDATED = 'notifications/resources/updated';
const NEVER_BRISK = { timeouts: { stop: '500ms' } };

const exited = (server: string): unknown => ({
  code: -32603,
  data: { reason: 'server_exited', outcome: 'unknown', server },
});

/** Methods that one process of the server got, in order. */
const methodsOf = (journal: Journal, pid: number): unknown[] =>
  journal
    .messages()
    .filter((message) => message.pid === pid)
    .map(({ method, params }) => (method === 'resources/subscribe' ? params?.['uri'] : method));

describe('a server that is killed', () => {
  const other = scriptedServer();
  const one = scriptedServer({ args: ['--restart-tools'], config: NEVER_BRISK });
  const { journal } = one;
  const harness = useGateway(() => ({ servers: { one: one.config, other: other.config } }));

  it('GW-098 fails its calls at once; the next call works on a new process that was told all', async () => {
    const { ws, sse } = await harness.channels();
    const session = await harness.session();
    const beside = await harness.session({ server: 'other' });
    await ws.request('logging/setLevel', { level: 'debug' });
    await sse.request('logging/setLevel', { level: 'error' });
    for (const uri of ['test://a', 'test://b']) await ws.request('resources/subscribe', { uri });
    const pid = Number(textOf(await ws.call('pid')));
    const calls: Promise<WireMessage>[] = [];
    for (const client of [ws, sse, session]) {
      for (let i = 0; i < 10; i++) calls.push(client.call('hang', { key: `load-${i}` }));
    }
    const safe = beside.call('slow', { ms: 300, v: 'safe' });
    await until(() => journal.messages().filter(({ raw }) => raw.includes('"load-')).length === 30);
    const killedAt = Date.now();
    process.kill(pid, 'SIGKILL');
    for (const answer of await Promise.all(calls)) {
      expect(answer.error).toMatchObject(exited('one') as object);
      expect(answer.error?.message).toContain('"one"');
    }
    // Within 1 s on an idle machine; the bound only says that nothing waited for a timeout.
    expect(Date.now() - killedAt).toBeLessThan(5_000);
    const next = Number(textOf(await ws.call('pid')));
    expect(next).not.toBe(pid);
    expect(textOf(await safe)).toBe('safe');
    expect(other.journal.starts).toHaveLength(1);
    const told = methodsOf(journal, next);
    expect(told.slice(0, 2)).toEqual(['initialize', 'notifications/initialized']);
    const beforeCall = told.slice(2, told.indexOf('tools/call'));
    expect(beforeCall).toEqual(['logging/setLevel', 'test://a', 'test://b']);
    const level = journal.messages('logging/setLevel').find((message) => message.pid === next);
    expect(level?.params).toEqual({ level: 'debug' });
    await session.call('touch', { uri: 'test://a' });
    await ws.messages.next(hasMethod(UPDATED));
    const samples = await fetchMetrics(harness.gateway.adminUrl);
    const restarts = { server: 'one', reason: 'SIGKILL' };
    expect(metricSum(samples, 'sluice_server_restarts_total', restarts)).toBe(1);
    expect(metricSum(samples, 'sluice_server_restarts_total', { server: 'other' })).toBe(0);
  });

  it('GW-099 with other tools afterwards: each session that listed them is told once', async () => {
    const { ws, sse } = await harness.channels();
    const session = await harness.session();
    const stream = session.openStream();
    await stream.head;
    for (const client of [ws, sse, session]) await client.request('tools/list');
    process.kill(Number(textOf(await ws.call('pid'))), 'SIGKILL');
    for (const client of [ws, sse, stream]) await client.messages.next(hasMethod(LIST_CHANGED));
    const list = JSON.stringify((await ws.request('tools/list')).result);
    expect(list).toContain(`generation_${journal.starts.length}`);
    await sse.request('tools/list');
    for (const client of [ws, sse, stream]) {
      expect(client.messages.all.filter(hasMethod(LIST_CHANGED))).toHaveLength(1);
    }
  });

  it('calls that come while it restarts wait for it', async () => {
    const ws = await harness.webSocket();
    const pid = Number(textOf(await ws.call('pid')));
    process.kill(pid, 'SIGKILL');
    await waitGone([pid]);
    const pids = await Promise.all(Array.from({ length: 5 }, () => ws.call('pid')));
    expect(new Set(pids.map(textOf)).size).toBe(1);
    expect(textOf(pids[0] as WireMessage)).not.toBe(String(pid));
  });
});

describe('a server that ends by itself', () => {
  const { harness, journal } = useScripted(scriptedServer({ config: NEVER_BRISK }));

  it('by exit: its call fails, the next ones work, the session lives on (trial 16)', async () => {
    const session = await harness.session();
    const { error } = await session.call('die');
    expect(error).toMatchObject(exited('one') as object);
    for (let i = 0; i < 3; i++)
      expect(textOf(await session.call('echo', { i }))).toBe(`{"i":${i}}`);
    const samples = await fetchMetrics(harness.gateway.adminUrl);
    const restarts = { server: 'one', reason: 'exit_3' };
    expect(metricSum(samples, 'sluice_server_restarts_total', restarts)).toBe(1);
  });

  it('with answers in its last write: they still arrive', async () => {
    const ws = await harness.webSocket();
    const before = journal.starts.length;
    const count = ws.call('big', { n: 60_000 });
    const dead = ws.call('die');
    expect(textOf(await count)).toHaveLength(60_000);
    expect((await dead).error).toMatchObject(exited('one') as object);
    await ws.call('echo', {});
    expect(journal.starts).toHaveLength(before + 1);
  });

  it('by closing stdout: as if it had ended, and its process is stopped', async () => {
    const ws = await harness.webSocket();
    const pid = Number(textOf(await ws.call('pid')));
    const waiting = ws.call('hang', {});
    await ws.call('close_stdout');
    expect((await waiting).error).toMatchObject(exited('one') as object);
    await waitGone([pid]);
    expect(textOf(await ws.call('echo', {}))).toBe('{}');
  });

  it('while it asks: the server request is taken back, the call fails', async () => {
    const ws = await harness.webSocket({ capabilities: { elicitation: {} } });
    const pid = Number(textOf(await ws.call('pid')));
    const answer = ws.call('ask', {});
    const serverRequest = await ws.messages.next(hasMethod('elicitation/create'));
    process.kill(pid, 'SIGKILL');
    const cancel = await ws.messages.next(hasMethod('notifications/cancelled'));
    expect(cancel.params?.['requestId']).toBe(serverRequest.id);
    expect((await answer).error).toMatchObject(exited('one') as object);
    ws.respond(serverRequest.id, { action: 'accept' });
    expect(textOf(await ws.call('echo', {}))).toBe('{}');
    const next = journal.starts.at(-1);
    const strays = journal.messages().filter((m) => m.pid === next && m.method === undefined);
    expect(strays).toEqual([]);
  });
});

describe('a server with the same tools after a restart', () => {
  const { harness } = useScripted();

  it('GW-099 tells nobody that they changed', async () => {
    const ws = await harness.webSocket();
    await ws.request('tools/list');
    const uri = 'test://fence';
    await ws.request('resources/subscribe', { uri });
    process.kill(Number(textOf(await ws.call('pid'))), 'SIGKILL');
    await ws.call('echo', {});
    // A change of our own comes behind the one that must not come.
    await until(async () => {
      await ws.call('touch', { uri });
      return ws.messages.all.filter(hasMethod(UPDATED)).length > 10;
    });
    expect(ws.messages.all.filter(hasMethod(LIST_CHANGED))).toEqual([]);
  });
});

describe('a server that can not be started', () => {
  const good = scriptedServer();
  const failing = scriptedServer({ args: ['--exit-before-init'] });
  const slow = scriptedServer({
    args: ['--init-delay', '45000'],
    config: { timeouts: { start: '400ms', stop: '500ms' } },
  });
  const late = scriptedServer({ args: ['--fail-starts', '2'] });
  const harness = useGateway(() => ({
    servers: {
      one: good.config,
      missing: { command: 'no-such-command-anywhere' },
      failing: failing.config,
      slow: slow.config,
      late: late.config,
    },
  }));

  it('stops nobody else: the others serve (trial 18)', async () => {
    const session = await harness.session();
    expect(textOf(await session.call('echo', { a: 1 }))).toBe('{"a":1}');
    const samples = await fetchMetrics(harness.gateway.adminUrl);
    expect(metricSum(samples, 'sluice_server_up', { server: 'one' })).toBe(1);
    for (const server of ['missing', 'failing', 'slow']) {
      expect(metricSum(samples, 'sluice_server_up', { server })).toBe(0);
    }
  });

  it('answers initialize with server_unavailable, not_sent, and says why (trial 18)', async () => {
    for (const [server, why] of [
      ['missing', /ENOENT/],
      ['failing', /exit_6/],
    ] as const) {
      const opened = harness.session({ server });
      await expect(opened).rejects.toThrow(
        /server_unavailable.*not_sent|not_sent.*server_unavailable/,
      );
      await expect(harness.session({ server })).rejects.toThrow(why);
    }
  });

  it('is tried again later, and later each time, never two at once (trials 18, 19)', async () => {
    await until(() => slow.journal.starts.length >= 3, { timeoutMs: 30_000 });
    const entries = slow.journal.lines().filter(({ kind }) => kind === 'event');
    let alive = 0;
    for (const { raw } of entries) {
      if (raw === 'start') alive++;
      else if (raw.startsWith('exit:')) alive--;
      expect(alive).toBeLessThanOrEqual(1);
    }
    const backoffs = harness.gateway
      .logs()
      .filter((line) => line['server'] === 'slow' && typeof line['backoffMs'] === 'number')
      .map((line) => Number(line['backoffMs']));
    expect(backoffs.length).toBeGreaterThanOrEqual(2);
    expect(Math.max(...backoffs)).toBeGreaterThan(backoffs[0] ?? Number.POSITIVE_INFINITY);
  });

  it('gets no cancel for initialize: it is stopped instead (trial 39)', async () => {
    await until(() => slow.journal.pidsOf('eof').length > 0);
    expect(slow.journal.messages('notifications/cancelled')).toEqual([]);
    expect(slow.journal.messages('initialize').length).toBeGreaterThan(0);
  });

  it('at first works as soon as a start succeeds', async () => {
    await until(async () => {
      const samples = await fetchMetrics(harness.gateway.adminUrl);
      return metricSum(samples, 'sluice_server_up', { server: 'late' }) === 1;
    });
    const session = await harness.session({ server: 'late' });
    expect(textOf(await session.call('echo', {}))).toBe('{}');
    expect(late.journal.starts.length).toBe(3);
  });

  it('five times in a minute fails fast: callers get their error without waiting for a start', async () => {
    await harness.gateway.waitForLog(
      (line) => line['server'] === 'failing' && line['failsFast'] === true,
      30_000,
    );
    const starts = failing.journal.starts.length;
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, () => harness.session({ server: 'failing' })),
    );
    for (const result of results) expect(result.status).toBe('rejected');
    expect(failing.journal.starts.length).toBeLessThanOrEqual(starts + 1);
    expect((await send(`${harness.gateway.adminUrl}/healthz`)).status).toBe(200);
  });
});

describe('a server that answers no ping', () => {
  const { harness, journal } = useScripted(scriptedServer({ args: ['--no-ping', '--strict'] }));

  it('is never pinged, or not minded: it lives on (trial 23)', async () => {
    const session = await harness.session();
    const pid = Number(textOf(await session.call('pid')));
    for (let i = 0; i < 3; i++) {
      await send(`${harness.gateway.adminUrl}/healthz`);
      await send(`${harness.gateway.adminUrl}/readyz`);
      expect((await session.request('ping')).result).toEqual({});
    }
    expect(isAlive(pid)).toBe(true);
    expect(journal.messages('ping')).toEqual([]);
    expect(journal.starts).toHaveLength(1);
  });
});
