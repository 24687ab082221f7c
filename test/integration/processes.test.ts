/**
 * Child processes: how many there are and for whom, what they inherit, and that each goes with its
 * descendants when its client does.
 */
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { post } from '../support/http-client.ts';
import { initializeRequest, type LegacySession } from '../support/legacy-session.ts';
import { fetchMetrics, metricSum } from '../support/metrics.ts';
import {
  descendants,
  isAlive,
  processInfo,
  serverProcesses,
  waitGone,
} from '../support/processes.ts';
import { FIXTURES, scriptedServer } from '../support/scripted-server.ts';
import { SseClient } from '../support/sse-client.ts';
import { until } from '../support/until.ts';
import { useGateway } from '../support/use-gateway.ts';
import { type Json, textOf } from '../support/wire-message.ts';
import { WsClient } from '../support/ws-client.ts';

const SESSION = { sharing: 'session' };
const LAZY = { start: 'lazy' };
const pidOf = async (session: LegacySession): Promise<number> =>
  Number(textOf(await session.call('pid')));

describe('E08 processes of one gateway', () => {
  const shared = scriptedServer({ config: LAZY });
  const own = scriptedServer({ config: SESSION });
  const stubborn = scriptedServer({
    args: ['--ignore-eof', '--ignore-term', '--grandchild'],
    config: { ...SESSION, timeouts: { stop: '300ms' } },
  });
  const eofOnly = scriptedServer({ args: ['--ignore-term'], config: SESSION });
  const termOnly = scriptedServer({ args: ['--ignore-eof'], config: SESSION });
  const late = scriptedServer({ args: ['--init-delay', '500'], config: SESSION });
  const wrapped = scriptedServer();
  const wrapper = {
    command: 'sh',
    args: [
      '-c',
      'exec 3<&0; "$0" "$1" --journal "$2" <&3 & sleep 1000 & wait',
      process.execPath,
      join(FIXTURES, 'scripted.ts'),
      wrapped.journal.file,
    ],
    ...SESSION,
    timeouts: { stop: '300ms' },
  };
  const harness = useGateway(() => ({
    ownProcess: true,
    servers: {
      one: shared.config,
      own: own.config,
      stubborn: stubborn.config,
      'eof-only': eofOnly.config,
      'term-only': termOnly.config,
      late: late.config,
      wrapped: wrapper,
    },
    config: { processes: { maxPerPrincipal: 20 } },
  }));
  const children = (): number[] => serverProcesses(harness.gateway.pid).map(({ pid }) => pid);

  it('are none for POSTs without a session, whatever their number (trial 1)', async () => {
    const posts = Array.from({ length: 100 }, (_, i) =>
      post(harness.url(), { jsonrpc: '2.0', id: String(i + 1), method: 'tools/list' }).response(),
    );
    for (const { status } of await Promise.all(posts)) expect(status).toBe(400);
    expect(children()).toEqual([]);
    expect(shared.journal.starts).toEqual([]);
  });

  it('start once for ten first clients at once, when shared (trials 11, 45)', async () => {
    const sessions = await Promise.all(Array.from({ length: 10 }, () => harness.session()));
    const pids = await Promise.all(sessions.map(pidOf));
    expect(new Set(pids).size).toBe(1);
    expect(shared.journal.starts).toEqual([pids[0]]);
    expect(shared.journal.messages('initialize')).toHaveLength(1);
    expect(shared.journal.messages('notifications/initialized')).toHaveLength(1);
  });

  it('stay as they are over many list refreshes (trial 21)', async () => {
    const session = await harness.session();
    for (let i = 0; i < 20; i++) await session.request('tools/list');
    const samples = await fetchMetrics(harness.gateway.adminUrl);
    expect(metricSum(samples, 'sluice_sessions')).toBe(1);
    expect(metricSum(samples, 'sluice_server_instances', { server: 'one' })).toBe(1);
    expect(shared.journal.starts).toHaveLength(1);
  });

  it('are one a session, keep its state, and show it to nobody else (trials 3, 11, 12, 13)', async () => {
    const sessions = await Promise.all(
      Array.from({ length: 6 }, () => harness.session({ server: 'own' })),
    );
    const pids = await Promise.all(sessions.map(pidOf));
    expect(new Set(pids).size).toBe(6);
    expect(own.journal.starts).toHaveLength(6);
    for (const session of sessions) expect(textOf(await session.call('count'))).toBe('1');
    for (const session of sessions) expect(textOf(await session.call('count'))).toBe('2');
    const [gone, kept] = [pids.slice(0, 3), pids.slice(3)];
    await Promise.all(sessions.slice(0, 3).map((session) => session.delete()));
    await waitGone(gone);
    expect(kept.every(isAlive)).toBe(true);
    for (const session of sessions.slice(3)) expect(textOf(await session.call('count'))).toBe('3');
    expect(own.journal.starts).toHaveLength(6);
  });

  it('end with their group: wrapper, server and what else it started (trial 2)', async () => {
    const before = children();
    const session = await harness.session({ server: 'wrapped' });
    const pid = await pidOf(session);
    const group = children().filter((child) => !before.includes(child));
    expect(group).toContain(pid);
    expect(group.length).toBeGreaterThanOrEqual(3);
    expect((await session.delete()).status).toBe(200);
    await waitGone(group);
  });

  it('that ignore EOF and TERM are killed in the background, with grandchildren (trial 14)', async () => {
    const session = await harness.session({ server: 'stubborn' });
    expect(textOf(await session.call('echo', { a: 1 }))).toBe('{"a":1}');
    const pid = await pidOf(session);
    await until(() => descendants(pid).length > 0);
    const group = [pid, ...descendants(pid).map((info) => info.pid)];
    const asked = Date.now();
    expect((await session.delete()).status).toBe(200);
    // It takes more than two seconds until KILL; nobody waits for it.
    expect(Date.now() - asked).toBeLessThan(2_000);
    await waitGone(group);
    const events = stubborn.journal.lines().map(({ raw }) => raw);
    expect(events.indexOf('eof')).toBeGreaterThan(0);
    expect(events.indexOf('term')).toBeGreaterThan(events.indexOf('eof'));
  });

  it('get EOF first, TERM only when that was not enough (trial 24, GW-105)', async () => {
    for (const [server, { journal }, events] of [
      ['eof-only', eofOnly, ['start', 'eof', 'exit:0']],
      ['term-only', termOnly, ['start', 'eof', 'term', 'exit:0']],
    ] as const) {
      const session = await harness.session({ server });
      const pid = await pidOf(session);
      await session.delete();
      await waitGone([pid]);
      const seen = journal.lines().filter(({ kind }) => kind === 'event');
      expect(seen.map(({ raw }) => raw)).toEqual(events);
    }
  });

  it('go with the stream of an HTTP+SSE client, and with the socket of a WebSocket (GW-078, GW-083)', async () => {
    const sse = harness.track(await SseClient.open(harness.gateway.endpoint('own', 'sse')));
    const ws = harness.track(await WsClient.connect(harness.gateway.endpoint('own', 'ws')));
    const pids: number[] = [];
    for (const client of [sse, ws]) {
      await client.initialize();
      pids.push(Number(textOf(await client.call('pid'))));
    }
    sse.stream.destroy();
    await ws.terminate();
    await waitGone(pids);
  });

  it('go when a client leaves while its server starts', async () => {
    const exchange = post(harness.gateway.endpoint('late'), initializeRequest());
    await until(() => late.journal.starts.length > 0);
    exchange.destroy();
    await waitGone(late.journal.starts);
  });

  it('have process groups of their own and no descriptor of the gateway (E06)', async () => {
    const sessions = [
      await harness.session({ server: 'own' }),
      await harness.session({ server: 'own' }),
    ];
    const pids = await Promise.all(sessions.map(pidOf));
    const open = pids.map(openOf);
    // What the shell of this test run left open is not the gateway's.
    const inherited = openOf(process.pid);
    const gateway = openOf(harness.gateway.pid).filter((target) => !inherited.includes(target));
    expect(gateway.length).toBeGreaterThan(0);
    for (const [i, pid] of pids.entries()) {
      expect(processInfo(pid)?.pgid).toBe(pid);
      const other = open[1 - i]?.filter((target) => !inherited.includes(target)) ?? [];
      const foreign = [...gateway, ...other];
      expect(open[i]?.filter((target) => foreign.includes(target))).toEqual([]);
    }
  });
});

/** Sockets, pipes and files that a process holds, as the kernel names them. */
function openOf(pid: number): string[] {
  const targets = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return '';
    }
  });
  return targets.filter((target) => /^(socket|pipe):|^\/(?!dev\/|proc\/)/.test(target));
}

describe('what a child is started with', () => {
  const odd = [
    'a b',
    '"q"',
    "it's",
    '$(touch pwned)',
    '`id`',
    '; touch pwned',
    'new\nline',
    '*',
    '',
  ];
  const one = scriptedServer({
    args: ['--', ...odd, '-x', '--flag=$HOME', '\\', 'é😀'],
    config: { env: { ONE_TOKEN: 'one secret', LANG: 'own' }, inheritEnv: ['CANARY_ALLOWED'] },
  });
  const two = scriptedServer({ config: { env: { TWO_TOKEN: 'two secret' } } });
  const canaries = Object.fromEntries(
    Array.from({ length: 50 }, (_, i) => [`CANARY_${i}_SECRET`, `canary ${i}`]),
  );
  const harness = useGateway(() => ({
    ownProcess: true,
    servers: { one: one.config, two: two.config },
    env: {
      ...canaries,
      CANARY_ALLOWED: 'yes',
      NODE_OPTIONS: '--no-warnings',
      LD_LIBRARY_PATH: '/nonexistent',
      DYLD_LIBRARY_PATH: '/nonexistent',
      BASH_ENV: '/nonexistent',
      PYTHONPATH: '/nonexistent',
      LC_ALL: 'C.UTF-8',
    },
  }));
  const seenBy = async (server: string): Promise<{ env: Json; argv: string[]; cwd: string }> => {
    const session = await harness.session({ server });
    return JSON.parse(textOf(await session.call('env')));
  };

  it('is an environment of its own: a short list, what it inherits by name, its own (E04)', async () => {
    const allowed =
      /^(PATH|HOME|USER|LOGNAME|LANG|LC_\w+|TZ|TMPDIR|TERM|ONE_TOKEN|CANARY_ALLOWED)$/;
    const { env } = await seenBy('one');
    expect(Object.keys(env).filter((name) => !allowed.test(name))).toEqual([]);
    expect(env).toMatchObject({
      ONE_TOKEN: 'one secret',
      CANARY_ALLOWED: 'yes',
      LC_ALL: 'C.UTF-8',
      LANG: 'own',
      PATH: process.env['PATH'],
    });
  });

  it('has nothing of another server (E04)', async () => {
    const { env } = await seenBy('two');
    expect(env['TWO_TOKEN']).toBe('two secret');
    for (const name of ['ONE_TOKEN', 'CANARY_ALLOWED', 'NODE_OPTIONS']) {
      expect(env).not.toHaveProperty(name);
    }
  });

  it('is its arguments, literally: no shell touches them (E03)', async () => {
    const { argv, cwd } = await seenBy('one');
    expect(argv.slice(argv.indexOf('--') + 1)).toEqual([...odd, '-x', '--flag=$HOME', '\\', 'é😀']);
    expect(cwd).toBe(harness.gateway.folder);
    expect(existsSync(join(cwd, 'pwned'))).toBe(false);
  });
});
