/**
 * Child processes: how many there are and for whom, what they inherit, and that every one of them, with
 * its descendants, goes when it has to.
 */
import { execFile, spawn } from 'node:child_process';
import { existsSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, startGateway } from '../support/gateway.ts';
import { post, send } from '../support/http-client.ts';
import { initializeRequest, type LegacySession } from '../support/legacy-session.ts';
import { fetchMetrics, metricSum } from '../support/metrics.ts';
import { descendants, isAlive, processInfo, waitGone } from '../support/processes.ts';
import { FIXTURES, scriptedServer } from '../support/scripted-server.ts';
import { SseClient } from '../support/sse-client.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { useGateway } from '../support/use-gateway.ts';
import { hasMethod, type Json, textOf } from '../support/wire-message.ts';
import { WsClient } from '../support/ws-client.ts';

const SESSION = { sharing: 'session' };
const LAZY = { start: 'lazy' };
const pidOf = async (session: LegacySession): Promise<number> =>
  Number(textOf(await session.call('pid')));

describe('processes of one gateway', () => {
  const shared = scriptedServer({ config: LAZY });
  const own = scriptedServer({ config: SESSION });
  const stubborn = scriptedServer({
    args: ['--ignore-eof', '--ignore-term', '--grandchild'],
    config: { ...SESSION, timeouts: { stop: '300ms' } },
  });
  const eofOnly = scriptedServer({ args: ['--ignore-term'], config: SESSION });
  const termOnly = scriptedServer({ args: ['--ignore-eof'], config: SESSION });
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
  const rig = useGateway(() => ({
    servers: {
      one: shared.config,
      own: own.config,
      stubborn: stubborn.config,
      'eof-only': eofOnly.config,
      'term-only': termOnly.config,
      wrapped: wrapper,
    },
    config: { processes: { maxPerPrincipal: 20 } },
  }));
  const children = (): number[] => descendants(rig.gateway.pid).map(({ pid }) => pid);

  it('are none for POSTs without a session, whatever their number (trial 1)', async () => {
    const posts = Array.from({ length: 100 }, (_, i) =>
      post(rig.url(), { jsonrpc: '2.0', id: String(i + 1), method: 'tools/list' }).response(),
    );
    for (const { status } of await Promise.all(posts)) expect(status).toBe(400);
    expect(children()).toEqual([]);
    expect(shared.journal.starts).toEqual([]);
  });

  it('start once for ten first clients at once, when shared (trials 11, 45)', async () => {
    const sessions = await Promise.all(Array.from({ length: 10 }, () => rig.session()));
    const pids = await Promise.all(sessions.map(pidOf));
    expect(new Set(pids).size).toBe(1);
    expect(shared.journal.starts).toEqual([pids[0]]);
    expect(shared.journal.messages('initialize')).toHaveLength(1);
    expect(shared.journal.messages('notifications/initialized')).toHaveLength(1);
  });

  it('stay as they are over many list refreshes (trial 21)', async () => {
    const session = await rig.session();
    for (let i = 0; i < 20; i++) await session.request('tools/list');
    const samples = await fetchMetrics(rig.gateway.adminUrl);
    expect(metricSum(samples, 'sluice_sessions')).toBe(1);
    expect(metricSum(samples, 'sluice_server_instances', { server: 'one' })).toBe(1);
    expect(shared.journal.starts).toHaveLength(1);
  });

  it('are one a session, keep its state, and show it to nobody else (trials 3, 11, 12, 13)', async () => {
    const sessions = await Promise.all(
      Array.from({ length: 6 }, () => rig.session({ server: 'own' })),
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
    const session = await rig.session({ server: 'wrapped' });
    const pid = await pidOf(session);
    const group = children().filter((child) => !before.includes(child));
    expect(group).toContain(pid);
    expect(group.length).toBeGreaterThanOrEqual(3);
    expect((await session.delete()).status).toBe(200);
    await waitGone(group);
  });

  it('that ignore EOF and TERM are killed in the background, with grandchildren (trial 14)', async () => {
    const session = await rig.session({ server: 'stubborn' });
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
      const session = await rig.session({ server });
      const pid = await pidOf(session);
      await session.delete();
      await waitGone([pid]);
      const seen = journal.lines().filter(({ kind }) => kind === 'event');
      expect(seen.map(({ raw }) => raw)).toEqual(events);
    }
  });

  it('go with the stream of an HTTP+SSE client, and with the socket of a WebSocket (GW-078, GW-083)', async () => {
    const sse = rig.track(await SseClient.open(rig.gateway.endpoint('own', 'sse')));
    const ws = rig.track(await WsClient.connect(rig.gateway.endpoint('own', 'ws')));
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
    const before = own.journal.starts.length;
    const exchange = post(rig.gateway.endpoint('own'), initializeRequest());
    await until(() => own.journal.starts.length > before);
    exchange.destroy();
    await waitGone(own.journal.starts.slice(before));
  });

  it('have process groups of their own and no descriptor of the gateway (E06)', async () => {
    const sessions = [await rig.session({ server: 'own' }), await rig.session({ server: 'own' })];
    const pids = await Promise.all(sessions.map(pidOf));
    const open = pids.map(openOf);
    // What the shell of this test run left open is not the gateway's.
    const inherited = openOf(process.pid);
    const gateway = openOf(rig.gateway.pid).filter((target) => !inherited.includes(target));
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
  const rig = useGateway(() => ({
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
    const session = await rig.session({ server });
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
    expect(cwd).toBe(rig.gateway.folder);
    expect(existsSync(join(cwd, 'pwned'))).toBe(false);
  });
});

describe('a lazy server that stops when idle', () => {
  const one = scriptedServer({ config: { ...LAZY, timeouts: { idle: '300ms' } } });
  const { journal } = one;
  const rig = useGateway(() => ({ servers: { one: one.config } }));
  const instances = async (): Promise<number> =>
    metricSum(await fetchMetrics(rig.gateway.adminUrl), 'sluice_server_instances');

  it('starts at the first client, stops after its time, starts again at the next call', async () => {
    expect(await instances()).toBe(0);
    expect((await send(`${rig.gateway.adminUrl}/readyz`)).status).toBe(200);
    const ws = await rig.webSocket();
    await ws.request('logging/setLevel', { level: 'warning' });
    await ws.request('resources/subscribe', { uri: 'test://idle' });
    expect(textOf(await ws.call('count'))).toBe('1');
    const first = Number(textOf(await ws.call('pid')));
    await waitGone([first]);
    expect(await instances()).toBe(0);
    const samples = await fetchMetrics(rig.gateway.adminUrl);
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
      'resources/subscribe',
    ]);
  });

  it('does not stop during a call that takes longer', async () => {
    const session = await rig.session();
    expect(textOf(await session.call('slow', { ms: 900, v: 'long' }))).toBe('long');
  });
});

describe('replicas', () => {
  const one = scriptedServer({ config: { replicas: 2 } });
  const rig = useGateway(() => ({ servers: { one: one.config } }));
  const CAPABLE = { elicitation: {} };

  it('share the sessions; each session stays where it is; one that dies takes no other along', async () => {
    const sessions = [
      await rig.session(),
      await rig.session(),
      await rig.session(),
      await rig.session(),
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
    for (let i = 0; i < 3; i++) clients.push(await rig.webSocket({ capabilities: CAPABLE }));
    const pids = await Promise.all(clients.map(async (client) => textOf(await client.call('pid'))));
    const twice = pids.find((pid, i) => pids.indexOf(pid) !== i);
    const [a, b] = clients.filter((_, i) => pids[i] === twice);
    if (!a || !b) throw new Error('no two sessions on one replica');
    // Teaches the gateway that `ask` asks.
    const lesson = a.call('ask', { v: 'lesson' });
    a.respond((await a.messages.next(hasMethod('elicitation/create'))).id, { action: 'decline' });
    await lesson;
    const answers = [a, b].map((client, i) => client.call('ask', { v: `q${i}` }));
    const questions = await Promise.all(
      [a, b].map((client) => client.messages.next(hasMethod('elicitation/create'))),
    );
    for (const [i, client] of [a, b].entries()) {
      expect(questions[i]?.params?.['message']).toBe(`q${i}`);
      client.respond(questions[i]?.id, { action: 'accept', content: { answer: `a${i}` } });
    }
    for (const [i, answer] of answers.entries()) expect(textOf(await answer)).toContain(`"a${i}"`);
  });
});

describe('sharing: principal', () => {
  const one = scriptedServer({ config: { sharing: 'principal' } });
  const rig = useGateway(() => ({ servers: { one: one.config } }));

  it('is one process for the sessions of one principal, that knows what its client can do', async () => {
    const capabilities = { elicitation: {} };
    const a = await rig.webSocket({ capabilities });
    const b = await rig.webSocket({ capabilities });
    expect(textOf(await a.call('count'))).toBe('1');
    expect(textOf(await b.call('count'))).toBe('2');
    expect(one.journal.starts).toHaveLength(1);
    const client = JSON.parse(textOf(await b.call('client'))) as Json;
    expect(client['capabilities']).toEqual(capabilities);
  });

  it('asks the session whose call is in flight, not the other', async () => {
    const capabilities = { elicitation: {} };
    const a = await rig.webSocket({ capabilities });
    const b = await rig.webSocket({ capabilities });
    const answer = b.call('ask', { v: 'b' });
    const question = await b.messages.next(hasMethod('elicitation/create'));
    b.respond(question.id, { action: 'accept', content: {} });
    expect(textOf(await answer)).toContain('accept');
    await a.request('ping');
    expect(a.messages.all.filter(hasMethod('elicitation/create'))).toEqual([]);
  });
});

describe('caps', () => {
  const one = scriptedServer({ config: SESSION });
  const two = scriptedServer({ args: ['--init-delay', '700'], config: SESSION });
  const rig = useGateway(() => ({
    servers: { one: one.config, two: two.config },
    config: { processes: { max: 3, maxPerPrincipal: 3, maxStarting: 2 } },
  }));

  it('on private processes hold over all servers: beyond them overloaded, not_sent', async () => {
    const sessions = [
      await rig.session(),
      await rig.session(),
      await rig.session({ server: 'two' }),
    ];
    const refused = await post(rig.url(), initializeRequest()).answer(0);
    expect(refused.error).toMatchObject({
      code: -32603,
      data: { reason: 'overloaded', outcome: 'not_sent', server: 'one' },
    });
    const ws = rig.track(await WsClient.connect(rig.gateway.endpoint('one', 'ws')));
    expect((await ws.initialize()).error?.data?.['reason']).toBe('overloaded');
    await ws.close();
    expect(one.journal.starts).toHaveLength(2);
    const pid = await pidOf(sessions[0] as LegacySession);
    await sessions[0]?.delete();
    await waitGone([pid]);
    const next = await until(() => rig.session().catch(() => undefined));
    expect(textOf(await next.call('count'))).toBe('1');
    for (const session of sessions.slice(1)) expect(textOf(await session.call('count'))).toBe('1');
  });

  it('on starts: no more than so many handshakes at a time, and all come to their turn', async () => {
    const before = two.journal.starts.length;
    // The cap on processes counts those of the test before until they are gone.
    const opening = Array.from({ length: 3 }, () =>
      until(() => rig.session({ server: 'two' }).catch(() => undefined)),
    );
    await until(() => two.journal.messages('initialize').length >= before + 2);
    expect(two.journal.starts).toHaveLength(before + 2);
    await Promise.all(opening);
    expect(two.journal.starts).toHaveLength(before + 3);
  });
});

describe('idle sessions', () => {
  const one = scriptedServer({ config: SESSION });
  const rig = useGateway(() => ({
    servers: { one: one.config },
    config: { sessions: { idle: '2s' } },
  }));

  it('end after their time, and so do their processes (trial 4)', async () => {
    const reader = await rig.session();
    expect((await reader.openStream().head).status).toBe(200);
    const sessions = await Promise.all(Array.from({ length: 3 }, () => rig.session()));
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

describe('the end of the gateway', () => {
  it('by TERM leaves nothing, with calls in flight, hung and stubborn servers, grandchildren', async () => {
    const hung = scriptedServer({ args: ['--grandchild'] });
    const stubborn = scriptedServer({
      args: ['--ignore-eof', '--ignore-term', '--grandchild'],
      config: { timeouts: { stop: '300ms' } },
    });
    const own = scriptedServer({ config: SESSION });
    const gateway = await startGateway({
      servers: { hung: hung.config, stubborn: stubborn.config, own: own.config },
      config: { drain: '300ms' },
    });
    const ws = await WsClient.connect(gateway.endpoint('hung', 'ws'));
    await ws.initialize();
    const ofOwn = await WsClient.connect(gateway.endpoint('own', 'ws'));
    await ofOwn.initialize();
    const answer = ws.call('hang', {});
    await until(() => descendants(gateway.pid).length >= 5);
    const left = descendants(gateway.pid).map(({ pid }) => pid);
    const stopped = gateway.stop();
    const { error } = await answer;
    expect(error).toMatchObject({ code: -32603, data: { outcome: 'unknown' } });
    expect(await ws.closed).toBe(1001);
    expect(await stopped).toEqual({ code: 0, signal: null });
    expect(left.filter(isAlive)).toEqual([]);
  });

  it('by TERM while servers start leaves nothing', async () => {
    const slow = scriptedServer({ args: ['--init-delay', '60000'] });
    const gateway = await startGateway({ servers: { one: slow.config }, waitReady: false });
    await slow.journal.waitFor(hasMethod('initialize'));
    expect(await gateway.stop()).toEqual({ code: 0, signal: null });
    await waitGone(slow.journal.starts);
  });

  it('by TERM lets calls in flight end first', async () => {
    const one = scriptedServer();
    const gateway = await startGateway({ servers: { one: one.config } });
    const ws = await WsClient.connect(gateway.endpoint('one', 'ws'));
    await ws.initialize();
    const answer = ws.call('slow', { ms: 500, v: 'done' });
    await one.journal.waitFor(({ raw }) => raw.includes('"slow"'));
    const stopped = gateway.stop();
    expect(textOf(await answer)).toBe('done');
    expect(await stopped).toEqual({ code: 0, signal: null });
  });

  it('by KILL leaves nothing: children see EOF (trial 6)', async () => {
    const one = scriptedServer();
    const own = scriptedServer({ config: SESSION });
    const gateway = await startGateway({ servers: { one: one.config, own: own.config } });
    const ws = await WsClient.connect(gateway.endpoint('own', 'ws'));
    await ws.initialize();
    expect(descendants(gateway.pid).length).toBeGreaterThanOrEqual(2);
    await gateway.kill();
    await waitGone([...one.journal.starts, ...own.journal.starts]);
  });

  it('comes with the end of its launcher, with --exit-with-parent (trial 6)', async () => {
    const one = scriptedServer();
    const file = join(tempDir(), 'sluice.yaml');
    const listen = { port: 0 };
    writeFileSync(file, JSON.stringify({ listen, admin: listen, servers: { one: one.config } }));
    const script = '"$0" src/main.ts serve --config "$1" --exit-with-parent & wait';
    const launcher = spawn('sh', ['-c', script, process.execPath, file], {
      cwd: ROOT,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let log = '';
    launcher.stderr.on('data', (chunk: Buffer) => {
      log += chunk.toString('utf8');
    });
    await until(() => log.includes('"msg":"ready"'), { timeoutMs: 30_000 });
    const all = descendants(launcher.pid ?? 0).map(({ pid }) => pid);
    expect(all.length).toBeGreaterThanOrEqual(2);
    launcher.kill('SIGKILL');
    await waitGone(all);
    launcher.stderr.destroy();
  });
});
