/**
 * Which clients share a process (docs/configuration.md#serversname), when one starts and stops, and
 * the caps on them.
 */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { post, send } from '../support/http-client.ts';
import { initializeRequest, type LegacySession } from '../support/legacy-session.ts';
import { fetchMetrics, metricSum } from '../support/metrics.ts';
import { waitGone } from '../support/processes.ts';
import { ROOT } from '../support/root.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { useGateway } from '../support/use-gateway.ts';
import { hasMethod, type Json, textOf } from '../support/wire-message.ts';
import { WsClient } from '../support/ws-client.ts';

const SESSION = { sharing: 'session' };
const LAZY = { start: 'lazy' };
const pidOf = async (session: LegacySession): Promise<number> =>
  Number(textOf(await session.call('pid')));

describe('a lazy server that stops when idle', () => {
  const one = scriptedServer({ config: { ...LAZY, timeouts: { idle: '300ms' } } });
  const { journal } = one;
  const harness = useGateway(() => ({ servers: { one: one.config } }));
  const instances = async (): Promise<number> =>
    metricSum(await fetchMetrics(harness.gateway.adminUrl), 'sluice_server_instances');

  it('starts at the first client, stops after its time, starts again at the next call', async () => {
    expect(await instances()).toBe(0);
    expect((await send(`${harness.gateway.adminUrl}/readyz`)).status).toBe(200);
    const ws = await harness.webSocket();
    await ws.request('logging/setLevel', { level: 'warning' });
    // Who watches a resource uses the server: it would not stop before this is taken back.
    await ws.request('resources/subscribe', { uri: 'test://idle' });
    await ws.request('resources/unsubscribe', { uri: 'test://idle' });
    expect(textOf(await ws.call('count'))).toBe('1');
    const first = Number(textOf(await ws.call('pid')));
    await waitGone([first]);
    expect(await instances()).toBe(0);
    const samples = await fetchMetrics(harness.gateway.adminUrl);
    expect(metricSum(samples, 'sluice_server_up', { server: 'one' })).toBe(1);
    expect(metricSum(samples, 'sluice_server_restarts_total')).toBe(0);
    expect(textOf(await ws.call('count'))).toBe('1');
    const second = journal.starts.at(-1);
    expect(second).not.toBe(first);
    const told = journal.messages().filter(({ pid }) => pid === second);
    expect(told.slice(0, 4).map(({ method }) => method)).toEqual([
      'initialize',
      'notifications/initialized',
      'logging/setLevel',
      'tools/call',
    ]);
  });

  it('does not stop during a call that takes longer', async () => {
    const session = await harness.session();
    expect(textOf(await session.call('slow', { ms: 900, v: 'long' }))).toBe('long');
  });
});

describe('replicas', () => {
  const one = scriptedServer({ config: { replicas: 2 } });
  const harness = useGateway(() => ({ servers: { one: one.config } }));
  const CAPABLE = { elicitation: {} };

  it('share the sessions; each session stays where it is; one that dies takes no other along', async () => {
    const sessions = [
      await harness.session(),
      await harness.session(),
      await harness.session(),
      await harness.session(),
    ];
    const pids = await Promise.all(sessions.map(pidOf));
    expect(new Set(pids).size).toBe(2);
    expect([...pids].sort()).toEqual([pids[0], pids[0], pids[1], pids[1]].sort());
    expect(await Promise.all(sessions.map(pidOf))).toEqual(pids);
    const beside = sessions[pids.indexOf(pids.find((pid) => pid !== pids[0]) ?? 0)];
    const safe = beside?.call('slow', { ms: 200, v: 'safe' });
    process.kill(pids[0] ?? 0, 'SIGKILL');
    expect(safe && textOf(await safe)).toBe('safe');
    expect(await pidOf(sessions[0] as LegacySession)).not.toBe(pids[0]);
  });

  it('take over calls that may ask, so that two clients are asked at once', async () => {
    const clients: WsClient[] = [];
    for (let i = 0; i < 3; i++) clients.push(await harness.webSocket({ capabilities: CAPABLE }));
    const pids = await Promise.all(clients.map(async (client) => textOf(await client.call('pid'))));
    const twice = pids.find((pid, i) => pids.indexOf(pid) !== i);
    const [a, b] = clients.filter((_, i) => pids[i] === twice);
    if (!a || !b) throw new Error('no two sessions on one replica');
    // Teaches the gateway that `ask` asks.
    const lesson = a.call('ask', { v: 'lesson' });
    a.respond((await a.messages.next(hasMethod('elicitation/create'))).id, { action: 'decline' });
    await lesson;
    const answers = [a, b].map((client, i) => client.call('ask', { v: `q${i}` }));
    const serverRequests = await Promise.all(
      [a, b].map((client) => client.messages.next(hasMethod('elicitation/create'))),
    );
    for (const [i, client] of [a, b].entries()) {
      expect(serverRequests[i]?.params?.['message']).toBe(`q${i}`);
      client.respond(serverRequests[i]?.id, { action: 'accept', content: { answer: `a${i}` } });
    }
    for (const [i, answer] of answers.entries()) expect(textOf(await answer)).toContain(`"a${i}"`);
  });
});

describe('sharing: principal', () => {
  const one = scriptedServer({ config: { sharing: 'principal' } });
  const harness = useGateway(() => ({ servers: { one: one.config } }));

  it('is one process for the sessions of one principal, that knows what they may be able to', async () => {
    const a = await harness.webSocket({ version: '2024-11-05', capabilities: {} });
    const b = await harness.webSocket({ capabilities: { elicitation: {} } });
    expect(textOf(await a.call('count'))).toBe('1');
    expect(textOf(await b.call('count'))).toBe('2');
    expect(one.journal.starts).toHaveLength(1);
    const client = JSON.parse(textOf(await b.call('client'))) as Json;
    expect(client).toMatchObject({
      protocolVersion: '2025-11-25',
      capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
    });
  });

  it('asks the session whose call is in flight, not the other', async () => {
    const capabilities = { elicitation: {} };
    const a = await harness.webSocket({ capabilities });
    const b = await harness.webSocket({ capabilities });
    const answer = b.call('ask', { v: 'b' });
    const serverRequest = await b.messages.next(hasMethod('elicitation/create'));
    b.respond(serverRequest.id, { action: 'accept', content: {} });
    expect(textOf(await answer)).toContain('accept');
    await a.request('ping');
    expect(a.messages.all.filter(hasMethod('elicitation/create'))).toEqual([]);
  });
});

describe('caps', () => {
  const one = scriptedServer({ config: SESSION });
  const two = scriptedServer({ args: ['--init-delay', '700'], config: SESSION });
  const harness = useGateway(() => ({
    servers: { one: one.config, two: two.config },
    config: { processes: { max: 3, maxPerPrincipal: 3, maxStarting: 2 } },
  }));

  it('on private processes hold over all servers: beyond them overloaded, not_sent', async () => {
    const sessions = [
      await harness.session(),
      await harness.session(),
      await harness.session({ server: 'two' }),
    ];
    const refused = await post(harness.url(), initializeRequest()).answer(0);
    expect(refused.error).toMatchObject({
      code: -32603,
      data: { reason: 'overloaded', outcome: 'not_sent', server: 'one' },
    });
    const ws = harness.track(await WsClient.connect(harness.gateway.endpoint('one', 'ws')));
    expect((await ws.initialize()).error?.data?.['reason']).toBe('overloaded');
    await ws.close();
    expect(one.journal.starts).toHaveLength(2);
    const pid = await pidOf(sessions[0] as LegacySession);
    await sessions[0]?.delete();
    await waitGone([pid]);
    const next = await until(() => harness.session().catch(() => undefined));
    expect(textOf(await next.call('count'))).toBe('1');
    for (const session of sessions.slice(1)) expect(textOf(await session.call('count'))).toBe('1');
  });

  it('on starts: no more than so many handshakes at a time, and all come to their turn', async () => {
    const before = two.journal.starts.length;
    // The cap on processes counts those of the test before until they are gone.
    const opening = Array.from({ length: 3 }, () =>
      until(() => harness.session({ server: 'two' }).catch(() => undefined)),
    );
    await until(() => two.journal.messages('initialize').length >= before + 2);
    expect(two.journal.starts).toHaveLength(before + 2);
    await Promise.all(opening);
    expect(two.journal.starts).toHaveLength(before + 3);
  });
});

describe('clients that close without a word', () => {
  const one = scriptedServer({ config: SESSION });
  const harness = useGateway(() => ({
    servers: { one: one.config },
    config: { processes: { maxPerPrincipal: 3 } },
  }));
  const streams = async (): Promise<number> =>
    metricSum(await fetchMetrics(harness.gateway.adminUrl), 'sluice_streams');

  it('give way to new ones, and find a new process when they come back', async () => {
    const gone: LegacySession[] = [];
    for (let at = 0; at < 3; at++) {
      const session = await harness.session();
      const stream = session.openStream();
      await stream.head;
      expect(textOf(await session.call('count'))).toBe('1');
      // As SDK clients do: the stream is closed, DELETE is not sent.
      stream.destroy();
      gone.push(session);
    }
    await until(async () => (await streams()) === 0);
    const pids = one.journal.starts;
    const next = [await harness.session(), await harness.session()];
    await waitGone(pids.slice(0, 2));
    const [back, , still] = gone;
    await still?.openStream().head;
    expect(textOf(await (still as LegacySession).call('count'))).toBe('2');
    // Nobody has left for certain now: there is no room for one that comes back.
    const refused = await back?.call('count');
    expect(refused?.error?.data).toMatchObject({
      reason: 'overloaded',
      outcome: 'not_sent',
      server: 'one',
    });
    const [first] = one.journal.starts.slice(3);
    await next[0]?.delete();
    await waitGone([first ?? 0]);
    // A wish is as good a sign of life as a call.
    expect((await back?.request('resources/subscribe', { uri: 'test://one' }))?.result).toEqual({});
    expect(textOf(await (back as LegacySession).call('count'))).toBe('1');
    const told = one.journal.messages().filter(({ pid }) => pid === one.journal.starts.at(-1));
    expect(told.slice(0, 2).map(({ method }) => method)).toEqual([
      'initialize',
      'notifications/initialized',
    ]);
    expect(textOf(await (next[1] as LegacySession).call('count'))).toBe('1');
  });

  it('never give way while they work, listen or watch', async () => {
    const [working, listening, watching] = [
      await harness.session(),
      await harness.session(),
      await harness.session(),
    ];
    const streams_ = [working, watching].map((session) => session.openStream());
    await Promise.all(streams_.map(({ head }) => head));
    await listening.openStream().head;
    const call = working.beginCall('hold', { key: 'work' });
    await watching.request('resources/subscribe', { uri: 'test://one' });
    await one.journal.waitForEvent('held:work');
    for (const stream of streams_) stream.destroy();
    await until(async () => (await streams()) === 1);
    await expect(harness.session()).rejects.toThrow('overloaded');
    await working.call('release', { key: 'work' });
    expect(textOf(await call.answer)).toBe('held');
    // Now one of them may be gone.
    expect(textOf(await (await harness.session()).call('count'))).toBe('1');
  });
});

describe('idle sessions', () => {
  const one = scriptedServer({ config: SESSION });
  const harness = useGateway(() => ({
    servers: { one: one.config },
    config: { sessions: { idle: '2s' } },
  }));

  it('end after their time, and so do their processes (trial 4)', async () => {
    const reader = await harness.session();
    expect((await reader.openStream().head).status).toBe(200);
    const sessions = await Promise.all(Array.from({ length: 3 }, () => harness.session()));
    const own = await pidOf(reader);
    await waitGone(
      one.journal.starts.filter((pid) => pid !== own),
      30_000,
    );
    for (const session of sessions) {
      expect((await session.notify('notifications/initialized')).status).toBe(404);
    }
    expect((await reader.request('ping')).result).toEqual({});
  });

  it('have a default limit', async () => {
    const file = join(tempDir(), 'sluice.yaml');
    writeFileSync(file, 'servers:\n  one: { command: "true" }\n');
    const { stdout } = await run(['src/main.ts', 'check', '--config', file]);
    expect(stdout).toMatch(/sessions:\n +idle: 30m/);
  });
});

/** Runs node to its end. */
function run(args: string[]): Promise<{ code: unknown; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: ROOT }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : error.code, stdout, stderr });
    });
  });
}

describe('what a server said, and the lists that its clients saw', () => {
  const one = scriptedServer({ config: SESSION });
  const harness = useGateway(() => ({ servers: { one: one.config } }));

  it('are held no longer than the private process of a session', async () => {
    const held = async (): Promise<number> =>
      metricSum(await fetchMetrics(harness.gateway.adminUrl), 'sluice_held_bytes', {
        kind: 'list',
      });
    const before = await held();
    for (let at = 0; at < 3; at++) {
      const session = await harness.session();
      await session.call('echo', {});
      expect(await held()).toBeGreaterThan(before);
      await session.delete();
      await until(async () => (await held()) === before);
    }
  });
});
