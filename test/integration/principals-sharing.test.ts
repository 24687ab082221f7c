/**
 * One process, several people: what belongs to one of them reaches nobody else, what belongs to
 * nobody that can be told is withheld, and who shares a process with whom
 * (docs/configuration.md#serversname, docs/protocol.md#attribution; B01, B04, B14).
 */
import { describe, expect, it } from 'vitest';
import type { ChannelClient } from '../support/channel-client.ts';
import { fetchMetrics, metricSum } from '../support/metrics.ts';
import { serverRequestsOf } from '../support/modern-client.ts';
import { CAPABLE, People } from '../support/principals.ts';
import { waitGone } from '../support/processes.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useGateway } from '../support/use-gateway.ts';
import { hasMethod, type Json, textOf, type WireMessage } from '../support/wire-message.ts';

const people = new People();
const accept = (answer: string): Json => ({ action: 'accept', content: { answer } });
const isProgress = hasMethod('notifications/progress');
const isLog = hasMethod('notifications/message');
const isUpdate = hasMethod('notifications/resources/updated');
const isServerRequest = hasMethod('elicitation/create');

/** Answers every server request of a channel with who it is. */
function answering(client: ChannelClient, who: string): WireMessage[] {
  const seen: WireMessage[] = [];
  const watch = async (): Promise<void> => {
    for (;;) {
      const serverRequest = await client.messages.next(
        ({ id, method }) =>
          id !== undefined && method !== undefined && seen.every((one) => one.id !== id),
        2 ** 31 - 1,
      );
      seen.push(serverRequest);
      client.respond(
        serverRequest.id,
        serverRequest.method === 'elicitation/create'
          ? accept(who)
          : { role: 'assistant', content: { type: 'text', text: who }, model: 'm' },
      );
    }
  };
  watch().catch(() => undefined);
  return seen;
}

describe('sharing: shared, with clients of two people', () => {
  const one = scriptedServer();
  const harness = useGateway(() => ({ servers: { one: one.config }, config: people.config }));
  const path = '/servers/one';
  const withheld = async (): Promise<number> =>
    metricSum(await fetchMetrics(harness.gateway.adminUrl), 'sluice_notifications_withheld_total');

  it('B01 B04 every answer and progress reaches its own, fifty calls of each at once', async () => {
    const names = ['ann', 'bob', 'eve'] as const;
    const sessions = await Promise.all([
      people.ws(harness, 'ann', `${path}/ws`),
      people.ws(harness, 'bob', `${path}/ws`),
      people.sse(harness, 'eve', `${path}/sse`),
    ]);
    const moderns = names.map((name) => people.modern(harness, name, `${path}/mcp`));
    const results: Promise<void>[] = [];
    for (let n = 0; n < 50; n++) {
      for (const [at, name] of names.entries()) {
        const secret = `secret-${name}-${n}`;
        // Everybody has the same ids and tokens.
        const params = {
          name: 'progress',
          arguments: { v: secret, count: 3 },
          _meta: { progressToken: n },
        };
        const session = sessions[at];
        const modern = moderns[at];
        if (session === undefined || modern === undefined) throw new Error('three of each');
        results.push(
          session
            .request('tools/call', params, n + 10)
            .then((answer) => expect(textOf(answer)).toBe(secret)),
        );
        const call = modern.begin('tools/call', params, { id: n + 10, meta: params._meta });
        results.push(
          call.answer.then((answer) => {
            expect(textOf(answer)).toBe(secret);
            const told = call.exchange.messages.all.filter(isProgress);
            expect(told.map(({ params: about }) => about?.['progressToken'])).toEqual([n, n, n]);
          }),
        );
      }
    }
    await Promise.all(results);
    for (const [at, session] of sessions.entries()) {
      const all = JSON.stringify(session.messages.all);
      for (const name of names) expect(all.includes(`secret-${name}`)).toBe(name === names[at]);
      expect(session.messages.all.filter(isProgress)).toHaveLength(150);
    }
  });

  it('B14 every server request reaches whoever caused it, interleaved, and nobody else', async () => {
    const ann = await people.ws(harness, 'ann', `${path}/ws`);
    const bob = await people.ws(harness, 'bob', `${path}/ws`);
    const other = await people.ws(harness, 'ann', `${path}/ws`);
    const seen = { ann: answering(ann, 'of ann'), bob: answering(bob, 'of bob') };
    const idle = answering(other, 'of the other');
    // Asking tools are known after the first, and wait for each other from then on.
    for (const client of [ann, bob]) {
      await client.call('ask', { v: client === ann ? 'ann' : 'bob' });
      await client.call('sample', { v: client === ann ? 'ann' : 'bob' });
    }
    const both = [
      ['ann', ann],
      ['bob', bob],
    ] as const;
    // A session has 64 calls in flight at most.
    const calls = Array.from({ length: 50 }, (_, n) =>
      both.map(async ([who, client]) => {
        const tool = ['ask', 'echo', 'sample', 'echo'][n % 4] ?? 'echo';
        const text = textOf(await client.call(tool, { v: `${who} ${n}` }));
        expect(text).toContain(tool === 'echo' ? `${who} ${n}` : `of ${who}`);
      }),
    );
    await Promise.all(calls.flat());
    expect(idle).toEqual([]);
    for (const who of ['ann', 'bob'] as const) {
      expect(seen[who]).toHaveLength(27);
      for (const serverRequest of seen[who]) expect(serverRequest.raw).toContain(`"${who}`);
    }
  });

  it('B14 a server request that could be of either is refused to the server, and asked of nobody', async () => {
    const ann = await people.ws(harness, 'ann', `${path}/ws`);
    const bob = await people.ws(harness, 'bob', `${path}/ws`);
    const held = bob.call('hold', { key: 'b14' });
    await one.journal.waitForEvent('held:b14');
    // A tool that was not seen to ask, while another person's call may have asked as well.
    const answer = ann.call('request', {
      method: 'elicitation/create',
      params: { message: 'whose?', requestedSchema: { type: 'object', properties: {} } },
    });
    expect(textOf(await answer)).toContain('unattributable');
    await bob.call('release', { key: 'b14' });
    await held;
    for (const client of [ann, bob])
      expect(client.messages.all.filter(isServerRequest)).toEqual([]);
  });

  it('B14 a server request after its call is over reaches nobody', async () => {
    const ann = await people.ws(harness, 'ann', `${path}/ws`);
    const bob = await people.ws(harness, 'bob', `${path}/ws`);
    await ann.call('ask_later', { v: 'late' });
    await until(() => one.journal.lines().some(({ raw }) => raw.startsWith('later:')));
    const [later] = one.journal.lines().filter(({ raw }) => raw.startsWith('later:'));
    expect(later?.raw).toContain('error');
    await bob.request('ping');
    for (const client of [ann, bob])
      expect(client.messages.all.filter(isServerRequest)).toEqual([]);
  });

  it('B14 one that a call of nobody else can have asked is asked, also across eras', async () => {
    const bob = await people.ws(harness, 'bob', `${path}/ws`);
    const ann = people.modern(harness, 'ann', `${path}/mcp`);
    const round = await ann.call('ask', { v: 'modern ann' });
    const [key = ''] = Object.keys(serverRequestsOf(round));
    const answer = await ann.retry('ask', { v: 'modern ann' }, round, { [key]: accept('a') });
    expect(textOf(answer)).toContain('modern ann');
    await bob.request('ping');
    expect(bob.messages.all.filter(isServerRequest)).toEqual([]);
  });

  it('B18 a log is withheld where it can not be told whose call it is of', async () => {
    const ann = await people.ws(harness, 'ann', `${path}/ws`);
    const bob = await people.ws(harness, 'bob', `${path}/ws`);
    for (const client of [ann, bob]) await client.request('logging/setLevel', { level: 'debug' });
    const before = await withheld();
    const held = bob.call('hold', { key: 'b18' });
    await one.journal.waitForEvent('held:b18');
    await ann.call('log', { v: 'beside' });
    await ann.call('notify', { method: 'notifications/vendor', params: { v: 'beside' } });
    expect(await until(async () => (await withheld()) - before)).toBe(2);
    await bob.call('release', { key: 'b18' });
    await held;
    for (const client of [ann, bob]) {
      expect(JSON.stringify(client.messages.all)).not.toContain('beside');
    }
  });

  it('B18 B05 changes reach who asked for them, and nobody cancels for somebody else', async () => {
    const ann = await people.ws(harness, 'ann', `${path}/ws`);
    const bob = await people.ws(harness, 'bob', `${path}/ws`);
    const eve = people.modern(harness, 'eve', `${path}/mcp`);
    const stream = await eve.listen({ resourceSubscriptions: ['test://eve'] });
    await ann.request('resources/subscribe', { uri: 'test://ann' });
    await bob.request('resources/subscribe', { uri: 'test://bob' });
    for (const uri of ['test://ann', 'test://bob', 'test://eve', 'test://none']) {
      await eve.call('touch', { uri });
    }
    await stream.messages.next(isUpdate);
    await ann.messages.next(isUpdate);
    await bob.messages.next(isUpdate);
    const uris = (messages: readonly WireMessage[]): unknown[] =>
      messages.filter(isUpdate).map(({ params }) => params?.['uri']);
    expect(uris(ann.messages.all)).toEqual(['test://ann']);
    expect(uris(bob.messages.all)).toEqual(['test://bob']);
    expect(uris(stream.messages.all)).toEqual(['test://eve']);
    // Bob takes ann's subscription and call back: there is none of his.
    await bob.request('resources/unsubscribe', { uri: 'test://ann' });
    const held = ann.begin('tools/call', { name: 'hold', arguments: { key: 'b05' } }, 77);
    await one.journal.waitForEvent('held:b05');
    const { id } = await one.journal.waitFor(({ raw }) => raw.includes('"b05"'));
    for (const requestId of [77, id]) bob.notify('notifications/cancelled', { requestId });
    await bob.request('ping');
    await eve.call('touch', { uri: 'test://ann' });
    await bob.call('release', { key: 'b05' });
    expect(textOf(await held.answer)).toBe('held');
    expect(uris(ann.messages.all)).toEqual(['test://ann', 'test://ann']);
    const cancelled = one.journal.messages('notifications/cancelled');
    expect(cancelled.filter(({ params }) => params?.['requestId'] === id)).toEqual([]);
    stream.destroy();
  });

  it('B17 the server learns nothing of who calls', async () => {
    const ann = await people.legacy(harness, 'ann', `${path}/mcp`);
    await ann.call('echo', { v: 1 });
    const heard = JSON.stringify(one.journal.messages());
    for (const name of ['ann', 'bob', 'eve']) {
      expect(heard).not.toContain(people.keys.key(name).slice(3, 20));
    }
    expect(heard).not.toContain(ann.sessionId);
  });
});

describe('what a shared server says of a call that is over', () => {
  const one = scriptedServer();
  const harness = useGateway(() => ({ servers: { one: one.config }, config: people.config }));
  const path = '/servers/one';
  const withheld = async (): Promise<number> =>
    metricSum(await fetchMetrics(harness.gateway.adminUrl), 'sluice_notifications_withheld_total');

  it('B18 reaches its caller while nobody else had a call there', async () => {
    const ann = await people.ws(harness, 'ann', `${path}/ws`);
    const bob = await people.ws(harness, 'bob', `${path}/ws`);
    await ann.call('log', { v: 'alone' });
    await ann.messages.next(isLog);
    await bob.request('ping');
    expect(bob.messages.all.filter(isLog)).toEqual([]);
  });

  it.each([
    ['answered, of a modern client', 'modern'],
    ['answered, of a session that is still there', 'legacy'],
    ['answered, of a session that left', 'left'],
  ] as const)('B18 reaches nobody else: %s', async (_, who) => {
    const bob = await people.ws(harness, 'bob', `${path}/ws`);
    const ann =
      who === 'modern'
        ? people.modern(harness, 'ann', `${path}/mcp`)
        : await people.ws(harness, 'ann', `${path}/ws`);
    // At once, while bob only listens; and while bob alone has a call there.
    const before = await withheld();
    await ann.call('log_late', { v: 'of ann' });
    await ann.call('log_late', { v: 'of ann', key: who });
    if (who === 'left') await ann.close();
    await bob.call('release', { key: who });
    await until(async () => (await withheld()) - before === 2);
    expect(JSON.stringify(bob.messages.all)).not.toContain('of ann');
  });
});

// What sharing costs: of tools that ask one call at a time is at work (docs/protocol.md#attribution).
describe('somebody who does not answer', () => {
  const one = scriptedServer({ config: { timeouts: { request: '1s' } } });
  const harness = useGateway(() => ({ servers: { one: one.config }, config: people.config }));

  it.each(['modern', 'legacy'])('has the time of a call while others wait (%s)', async (era) => {
    const eve = people.modern(harness, 'eve', '/servers/one/mcp');
    const bob = people.modern(harness, 'bob', '/servers/one/mcp');
    const wire = await people.ws(harness, 'eve', '/servers/one/ws', { capabilities: CAPABLE });
    const round = era === 'modern' ? await eve.call('ask', { v: 'eve' }) : undefined;
    const asked = era === 'legacy' ? wire.call('ask', { v: 'eve' }) : undefined;
    if (asked !== undefined) await wire.messages.next(hasMethod('elicitation/create'));
    // He is kept from nothing else meanwhile.
    expect(textOf(await bob.call('echo', { v: 'bob' }))).toContain('bob');
    const next = await bob.call('ask', { v: 'bob' });
    // Her server request is taken back as if she had closed it, and her call ends as the tool
    // likes.
    if (asked !== undefined) expect(textOf(await asked)).toContain('"action":"cancel"');
    if (round !== undefined) {
      const [key = ''] = Object.keys(serverRequestsOf(round));
      const late = await eve.retry('ask', { v: 'eve' }, round, { [key]: accept('at last') });
      expect(textOf(late)).toContain('"action":"cancel"');
    }
    const [own = ''] = Object.keys(serverRequestsOf(next));
    expect(textOf(await bob.retry('ask', { v: 'bob' }, next, { [own]: accept('b') }))).toContain(
      'b',
    );
  });

  it('may take longer while nobody waits', async () => {
    const eve = people.modern(harness, 'eve', '/servers/one/mcp');
    const bob = people.modern(harness, 'bob', '/servers/one/mcp');
    const round = await eve.call('ask', { v: 'eve' });
    const [key = ''] = Object.keys(serverRequestsOf(round));
    // Twice the time of a call.
    const slow = bob.call('slow', { ms: 900, v: 'first' });
    expect(textOf(await slow)).toBe('first');
    expect(textOf(await bob.call('slow', { ms: 900, v: 'second' }))).toBe('second');
    const reply = { [key]: accept('at last') };
    expect(textOf(await eve.retry('ask', { v: 'eve' }, round, reply))).toContain('at last');
  });
});

describe('sharing: principal', () => {
  const one = scriptedServer({ config: { sharing: 'principal' } });
  const harness = useGateway(() => ({ servers: { one: one.config }, config: people.config }));
  const path = '/servers/one';

  it('is one process for all clients of one person, of both eras, and another for the next', async () => {
    const clients = [
      await people.ws(harness, 'ann', `${path}/ws`),
      await people.legacy(harness, 'ann', `${path}/mcp`),
      people.modern(harness, 'ann', `${path}/mcp`),
      await people.sse(harness, 'ann', `${path}/sse`),
      people.modern(harness, 'ann', '/mcp'),
    ];
    const counts: string[] = [];
    for (const client of clients) counts.push(textOf(await client.call('count')));
    expect(counts).toEqual(['1', '2', '3', '4', '5']);
    const bob = people.modern(harness, 'bob', `${path}/mcp`);
    const eve = await people.ws(harness, 'eve', `${path}/ws`);
    expect(textOf(await bob.call('count'))).toBe('1');
    expect(textOf(await eve.call('count'))).toBe('1');
    expect(new Set(one.journal.starts).size).toBe(3);
  });

  it('logs of one reach all clients of this person, and nobody else', async () => {
    const anns = [
      await people.ws(harness, 'ann', `${path}/ws`),
      await people.ws(harness, 'ann', `${path}/ws`),
    ];
    const bob = await people.ws(harness, 'bob', `${path}/ws`);
    for (const client of [...anns, bob])
      await client.request('logging/setLevel', { level: 'debug' });
    const [first, second] = anns;
    if (first === undefined || second === undefined) throw new Error('two');
    const held = first.call('hold', { key: 'log' });
    await one.journal.waitForEvent('held:log');
    await second.call('log', { v: 'of ann' });
    await Promise.all(anns.map((client) => client.messages.next(isLog)));
    await second.call('release', { key: 'log' });
    await held;
    await bob.request('ping');
    expect(bob.messages.all.filter(isLog)).toEqual([]);
  });

  it('asks whoever of them called, fifty calls of each at once', async () => {
    const first = await people.ws(harness, 'ann', `${path}/ws`);
    const second = await people.ws(harness, 'ann', `${path}/ws`);
    const bob = await people.ws(harness, 'bob', `${path}/ws`);
    const all = [
      ['first', first],
      ['second', second],
      ['bob', bob],
    ] as const;
    for (const [who, client] of all) answering(client, `of ${who}`);
    for (const [who, client] of all) await client.call('ask', { v: who });
    const calls = all.flatMap(([who, client]) =>
      Array.from({ length: 50 }, async (_, n) => {
        expect(textOf(await client.call('ask', { v: `${who} ${n}` }))).toContain(`of ${who}`);
      }),
    );
    await Promise.all(calls);
  });

  // A process is told once what its clients can do, and who comes first does not decide that.
  it('is told what any client of a person may be able to; each is asked as far as it can', async () => {
    const rest = people.modern(harness, 'eve', `${path}/mcp`, {});
    const pid = Number(textOf(await rest.call('pid')));
    const told = JSON.parse(textOf(await rest.call('client'))) as Json;
    const able = await people.ws(harness, 'eve', `${path}/ws`, { capabilities: CAPABLE });
    expect(Number(textOf(await able.call('pid')))).toBe(pid);
    answering(able, 'of the able one');
    expect(textOf(await able.call('ask', { v: 'able' }))).toContain('of the able one');
    const reply = textOf(await rest.call('ask', { v: 'rest' }));
    expect(reply).toContain('-32601');
    expect(told['capabilities']).toMatchObject({ elicitation: {}, sampling: {}, roots: {} });
    const roots = await people.ws(harness, 'eve', `${path}/ws`, { capabilities: { roots: {} } });
    const asked = roots.call('roots');
    roots.respond((await roots.messages.next(hasMethod('roots/list'))).id, {
      roots: [{ uri: 'file:///of-eve', name: 'e' }],
    });
    expect(textOf(await asked)).toContain('file:///of-eve');
    expect(textOf(await rest.call('roots'))).toContain('-32601');
  });
});

describe('sharing: session', () => {
  const one = scriptedServer({ config: { sharing: 'session' } });
  const harness = useGateway(() => ({
    servers: { one: one.config },
    config: { ...people.config, processes: { max: 6, maxPerPrincipal: 3 } },
  }));
  const path = '/servers/one';

  it('is a process for each session and for each modern client of a person, within limits', async () => {
    const sessions = [
      await people.ws(harness, 'ann', `${path}/ws`),
      await people.ws(harness, 'ann', `${path}/ws`),
    ];
    const moderns = [
      people.modern(harness, 'ann', `${path}/mcp`),
      people.modern(harness, 'ann', `${path}/mcp`),
    ];
    const pids: string[] = [];
    for (const client of [...sessions, ...moderns]) pids.push(textOf(await client.call('pid')));
    expect(new Set(pids).size).toBe(3);
    expect(pids[2]).toBe(pids[3]);
    // Ann has all of hers, but nothing uses that of the modern client now; bob has his.
    sessions.push(await people.ws(harness, 'ann', `${path}/ws`));
    await waitGone([Number(pids[2])]);
    await expect(people.legacy(harness, 'ann', `${path}/mcp`)).rejects.toThrow('overloaded');
    const bob = await people.ws(harness, 'bob', `${path}/ws`);
    expect(pids).not.toContain(textOf(await bob.call('pid')));
    for (const session of sessions) await session.close();
    await waitGone(pids.slice(0, 2).map(Number));
  });
});
