/** Sessions of Streamable HTTP that outlive the gateway: what their clients see of its restart. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type Gateway, type GatewayOptions, startGateway } from '../support/gateway.ts';
import { LegacySession, type SessionOptions } from '../support/legacy-session.ts';
import { fetchMetrics, metricSum } from '../support/metrics.ts';
import { People } from '../support/principals.ts';
import { type ScriptedServer, scriptedServer } from '../support/scripted-server.ts';
import { tempDir } from '../support/temp-dir.ts';

const SECRET = 'a text of 32 characters or more, really';
const PRIVATE = { sharing: 'session' };

/** A gateway that is stopped and started again, with one data folder. */
class Restarted {
  readonly data = join(tempDir(), 'data');
  readonly one: ScriptedServer;
  readonly #options: Omit<GatewayOptions, 'servers'>;
  gateway: Gateway | undefined;

  constructor(one = scriptedServer(), options: Omit<GatewayOptions, 'servers'> = {}) {
    this.one = one;
    this.#options = options;
  }

  get url(): string {
    return this.gateway?.endpoint('one') ?? '';
  }

  async start(config: Readonly<Record<string, unknown>> = {}): Promise<void> {
    const servers = { one: this.one.config, two: scriptedServer().config };
    const all = { data: this.data, ...this.#options.config, ...config };
    this.gateway = await startGateway({ ...this.#options, servers, config: all });
  }

  async restart(config: Readonly<Record<string, unknown>> = {}): Promise<void> {
    await this.stop();
    await this.start(config);
  }

  async stop(): Promise<void> {
    const gateway = this.gateway;
    this.gateway = undefined;
    if (gateway !== undefined) expect(await gateway.stop()).toEqual({ code: 0, signal: null });
  }

  open(options?: SessionOptions): Promise<LegacySession> {
    return LegacySession.open(this.url, options);
  }

  async count(name: string): Promise<number> {
    return metricSum(await fetchMetrics(this.gateway?.adminUrl ?? ''), name);
  }
}

let running: Restarted | undefined;
afterEach(async () => {
  await running?.stop();
  running = undefined;
});

async function started(...args: ConstructorParameters<typeof Restarted>): Promise<Restarted> {
  running = new Restarted(...args);
  await running.start();
  return running;
}

async function statusOf(session: LegacySession): Promise<number> {
  return (await session.begin('tools/list').exchange.head).status;
}

describe.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
  'a session of %s',
  (version) => {
    it('goes on after a restart with its id', async () => {
      const gate = await started();
      const before = await gate.open({ version, capabilities: { elicitation: {} } });
      expect(await before.call('echo', { n: 1 })).toHaveProperty('result');
      await gate.restart();
      const after = before.at(gate.url);
      expect(await after.call('echo', { n: 2 })).toHaveProperty('result');
      // Its capabilities too: it is asked.
      const call = after.beginCall('ask', { message: 'who?' });
      const question = await call.exchange.messages.next(
        ({ method }) => method === 'elicitation/create',
      );
      await after.respond(question.id, { action: 'decline' });
      expect(await call.answer).toHaveProperty('result');
      expect(await gate.count('sluice_sessions_taken_up_total')).toBe(1);
      expect(await gate.count('sluice_sessions')).toBe(1);
    });
  },
);

describe('a session that is taken up', () => {
  it('has its stream anew, whatever it was to be resumed behind, and is told that lists may differ', async () => {
    const gate = await started();
    const before = await gate.open();
    const stream = before.openStream();
    const { id: eventId = '' } = await stream.events.next(({ id }) => id !== undefined);
    expect(eventId).toMatch(/^\d+_0$/);
    await gate.restart();
    const after = before.at(gate.url);
    // Streams of this process come first: none of them may be taken for the old one.
    for (let at = 0; at < 5; at++) expect(await after.call('progress', {})).toBeDefined();
    const resumed = after.openStream(eventId);
    const told = new Set<string | undefined>();
    while (told.size < 3) told.add((await resumed.messages.next(() => true)).method);
    expect([...told].sort()).toEqual([
      'notifications/prompts/list_changed',
      'notifications/resources/list_changed',
      'notifications/tools/list_changed',
    ]);
    await after.close();
    resumed.destroy();
  });

  it('gives calls that were in flight an error when their streams are resumed, and ends with that', async () => {
    const gate = await started();
    const before = await gate.open();
    const id = 'a "quoted" id';
    const stuck = [
      before.begin('tools/call', { name: 'hang' }, { id: 7 }),
      before.begin('tools/call', { name: 'hang' }, { id: 'seven' }),
      before.begin('tools/call', { name: 'hang' }, { id }),
    ];
    const primed = stuck.map(({ exchange }) => exchange.events.next((one) => one.id !== undefined));
    const [seven = '', word = '', quoted = ''] = (await Promise.all(primed)).map(
      (event) => event.id ?? '',
    );
    await gate.restart({ drain: '0s' });
    const after = before.at(gate.url);
    const general = after.openStream();
    expect((await general.head).status).toBe(200);
    for (const [eventId, request] of [
      [seven, 7],
      [word, 'seven'],
    ] as const) {
      const resumed = after.openStream(eventId);
      const { error } = await resumed.messages.next(() => true);
      expect(error).toMatchObject({ data: { reason: 'draining', outcome: 'unknown' } });
      const [event] = await Promise.all([
        resumed.response().then(({ text }) => /^id: (.*)$/m.exec(text)?.[1]),
      ]);
      expect((await resumed.response()).text).toContain(`"id":${JSON.stringify(request)}`);
      expect((await after.openStream(event).head).status).toBe(405);
    }
    // Whose call it was can't be said; its client would ask again and again.
    expect((await after.openStream(quoted).head).status).toBe(405);
    // None of it cost the client its stream.
    await after.call('list_change', {});
    await general.messages.next(({ method }) => method === 'notifications/tools/list_changed');
    expect(general.comments).not.toContain(' superseded');
    for (const { exchange } of stuck) exchange.destroy();
    await after.close();
  });

  it('is taken up once by requests that come at once', async () => {
    const gate = await started(scriptedServer({ config: PRIVATE }));
    const before = await gate.open();
    await gate.restart();
    const after = before.at(gate.url);
    const starts = gate.one.journal.starts.length;
    const answers = await Promise.all([1, 2, 3, 4].map((n) => after.call('echo', { n })));
    for (const answer of answers) expect(answer).toHaveProperty('result');
    expect(gate.one.journal.starts).toHaveLength(starts + 1);
    expect(await gate.count('sluice_sessions')).toBe(1);
    expect(await gate.count('sluice_sessions_taken_up_total')).toBe(1);
  });

  it('starts no process of its own before its next request', async () => {
    const gate = await started(scriptedServer({ config: PRIVATE }));
    const before = await gate.open();
    await gate.restart();
    const starts = gate.one.journal.starts.length;
    const after = before.at(gate.url);
    const stream = after.openStream();
    expect((await stream.head).status).toBe(200);
    expect((await after.notify('notifications/roots/list_changed')).status).toBe(202);
    expect(await after.request('ping')).toHaveProperty('result');
    expect(await after.call('echo', {})).toHaveProperty('result');
    expect(gate.one.journal.starts).toHaveLength(starts + 1);
    // The lists of the new process may be others.
    await stream.messages.next(({ method }) => method === 'notifications/tools/list_changed');
    await after.close();
  });

  it('goes on at an endpoint of several servers', async () => {
    const gate = await started();
    const before = await LegacySession.open(`${gate.gateway?.url}/mcp`);
    await gate.restart();
    const after = before.at(`${gate.gateway?.url}/mcp`);
    expect(await after.call('one__echo', {})).toHaveProperty('result');
    await after.close();
  });

  it('is refused for now while the gateway stops, not for ever', async () => {
    const gate = await started();
    const [before, busy] = [await gate.open(), await gate.open()];
    await gate.restart();
    const call = busy.at(gate.url).beginCall('slow', { ms: 1_000 });
    await gate.one.journal.waitFor(({ params }) => params?.['name'] === 'slow');
    const url = gate.url;
    gate.gateway?.signal('SIGTERM');
    await gate.gateway?.waitForLog(({ msg }) => msg === 'stopping');
    const refused = await before.at(url).begin('tools/list').exchange.response();
    expect(refused.status).toBe(503);
    expect(refused.json()).toMatchObject({ error: { data: { reason: 'draining' } } });
    expect(await call.answer).toHaveProperty('result');
  });
});

describe.each(['servers/one', 'pair'])('what a session at /%s wanted to be told', (path) => {
  const SUBSCRIBED = ['test://a', 'test://b'];

  it.each(['shared', 'session'])('it is told after restarts, with sharing: %s', async (sharing) => {
    const one = scriptedServer({ config: { sharing } });
    const gate = await started(one, {
      config: { endpoints: { '/pair': { servers: ['one'], prefix: 'never' } } },
    });
    const url = (): string => `${gate.gateway?.url}/${path}/mcp`;
    const before = await LegacySession.open(url());
    const other = await LegacySession.open(url());
    expect(await before.request('logging/setLevel', { level: 'error' })).toHaveProperty('result');
    for (const uri of [...SUBSCRIBED, 'test://c']) {
      expect(await before.request('resources/subscribe', { uri })).toHaveProperty('result');
    }
    await before.request('resources/unsubscribe', { uri: 'test://c' });
    for (let restart = 0; restart < 2; restart++) {
      const known = one.journal.messages().length;
      await gate.restart();
      const after = before.at(url());
      const stream = after.openStream();
      expect((await stream.head).status).toBe(200);
      expect(await after.call('echo', {})).toHaveProperty('result');
      const isNew = (): ReturnType<typeof one.journal.messages> =>
        one.journal.messages().slice(known);
      const asked = (method: string): (typeof known | unknown)[] =>
        isNew()
          .filter((message) => message.method === method)
          .map(({ params }) => params?.['uri'] ?? params?.['level']);
      await expect.poll(() => asked('resources/subscribe')).toEqual(SUBSCRIBED);
      expect(asked('logging/setLevel')).toEqual(['error']);
      await after.call('touch', { uri: 'test://b' });
      const told = await stream.messages.next(
        ({ method }) => method === 'notifications/resources/updated',
      );
      expect(told.params).toEqual({ uri: 'test://b' });
      // The other session wanted nothing.
      expect(await other.at(url()).call('echo', {})).toHaveProperty('result');
      stream.destroy();
    }
  });
});

describe('an id of another process', () => {
  it('is unknown at another endpoint', async () => {
    const gate = await started();
    const before = await gate.open();
    await gate.restart();
    const url = gate.gateway?.endpoint('two') ?? '';
    expect(await statusOf(before.at(url))).toBe(404);
    expect((await before.at(url).delete()).status).toBe(404);
    expect(await statusOf(before.at(`${gate.gateway?.url}/mcp`))).toBe(404);
    expect(await statusOf(before.at(gate.url))).toBe(200);
  });

  it('is unknown to anybody else, and goes on for its own', async () => {
    const people = new People();
    const gate = await started(scriptedServer(), { config: people.config });
    const before = await gate.open({ headers: people.headers('ann') });
    await gate.restart();
    const bob = before.at(gate.url, people.headers('bob'));
    expect(await statusOf(bob)).toBe(404);
    expect((await bob.openStream().head).status).toBe(404);
    expect((await bob.delete()).status).toBe(404);
    expect(await statusOf(before.at(gate.url, {}))).toBe(401);
    expect(await gate.count('sluice_sessions_taken_up_total')).toBe(0);
    expect(await statusOf(before.at(gate.url))).toBe(200);
  });

  it('is unknown when it was changed, or is of other keys', async () => {
    const gate = await started();
    const before = await gate.open();
    await gate.restart();
    for (const id of [
      before.sessionId.slice(0, -1),
      `${before.sessionId}A`,
      before.sessionId.replace(/.$/, (last) => (last === 'A' ? 'Q' : 'A')),
      `s1.${'A'.repeat(1_000)}`,
      `s1.${'A'.repeat(4_000)}`,
    ]) {
      expect(await statusOf(before.at(gate.url, {}, id)), id).toBe(404);
    }
    await gate.restart({ sessions: { keys: [SECRET] } });
    expect(await statusOf(before.at(gate.url))).toBe(404);
    const next = await gate.open();
    await gate.restart({ sessions: { keys: [`another: ${SECRET}`, SECRET] }, data: undefined });
    expect(await statusOf(next.at(gate.url))).toBe(200);
    await gate.restart({ data: undefined });
    expect(await statusOf(next.at(gate.url))).toBe(404);
  });

  it('of more than 1 KiB is not made, and its session dies with the process', async () => {
    const gate = await started();
    const text = 'x'.repeat(2_000);
    const before = await gate.open({ capabilities: { experimental: { text } } });
    expect(before.sessionId.length).toBeLessThan(100);
    expect(await statusOf(before)).toBe(200);
    await gate.restart();
    expect(await statusOf(before.at(gate.url))).toBe(404);
  });

  it('is too old after sessions.maxAge', async () => {
    const gate = await started();
    const before = await gate.open();
    await gate.restart({ sessions: { maxAge: '1s' } });
    await expect.poll(() => statusOf(before.at(gate.url)), { timeout: 10_000 }).toBe(404);
  });

  it('stays ended, in this process and the next', async () => {
    const gate = await started();
    const [deleted, later] = [await gate.open(), await gate.open()];
    expect((await deleted.delete()).status).toBe(200);
    expect(await statusOf(deleted)).toBe(404);
    await gate.restart();
    expect(await statusOf(deleted.at(gate.url))).toBe(404);
    // Of one that was never used here.
    expect((await later.at(gate.url).delete()).status).toBe(200);
    expect((await later.at(gate.url).delete()).status).toBe(404);
    expect(await statusOf(later.at(gate.url))).toBe(404);
    expect(await gate.count('sluice_sessions_taken_up_total')).toBe(0);
    await gate.restart();
    for (const ended of [deleted, later]) {
      expect(await statusOf(ended.at(gate.url))).toBe(404);
    }
  });
});

it('a second initialize with the id of an earlier process opens a session of its own', async () => {
  const gate = await started();
  const before = await gate.open();
  await gate.restart();
  const after = await LegacySession.open(gate.url, {
    headers: { 'mcp-session-id': before.sessionId },
  });
  expect(after.sessionId).not.toBe(before.sessionId);
});

it('a folder that others left behind is of no use to anybody', async () => {
  const gate = new Restarted();
  mkdirSync(gate.data, { recursive: true });
  writeFileSync(join(gate.data, 'keys.json'), '{"version":1,"keys":[');
  await expect(gate.start()).rejects.toThrow('keys.json is not JSON: restore it, or remove it');
});
