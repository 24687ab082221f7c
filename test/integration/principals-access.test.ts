/**
 * What somebody can get of another person's sessions, streams, lists and kept results, and what is
 * left of a person whose key is revoked, changed or old (docs/reliability.md#b06, #b13, #g07, #g08;
 * GW-153 to GW-156).
 */
import { chmodSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CatalogServer, tools } from '../support/catalog-server.ts';
import { ERAS } from '../support/era-client.ts';
import { HttpExchange, POST_HEADERS, post, send } from '../support/http-client.ts';
import { initializeRequest } from '../support/legacy-session.ts';
import { ModernClient } from '../support/modern-client.ts';
import { People } from '../support/principals.ts';
import { waitGone } from '../support/processes.ts';
import { RemoteServer } from '../support/remote-server.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useGateway } from '../support/use-gateway.ts';
import { type Json, textOf } from '../support/wire-message.ts';

const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });

describe('a session of somebody else', () => {
  const people = new People();
  const one = scriptedServer();
  const two = scriptedServer();
  const harness = useGateway(() => ({
    servers: { one: one.config, two: two.config },
    config: people.config,
  }));

  it('B13 its events are not replayed to others, nor at another endpoint', async () => {
    const ann = await people.legacy(harness, 'ann', '/servers/one/mcp');
    const call = ann.beginCall('hold', { key: 'b13', v: 'for ann only' });
    await one.journal.waitForEvent('held:b13');
    const event = await call.exchange.events.next(({ id }) => id !== undefined);
    call.exchange.destroy();
    await ann.call('release', { key: 'b13' });
    const bob = await people.legacy(harness, 'bob', '/servers/one/mcp');
    const elsewhere = await people.legacy(harness, 'ann', '/servers/two/mcp');
    for (const other of [bob, elsewhere, await people.legacy(harness, 'ann', '/servers/one/mcp')]) {
      const stream = other.openStream(event.id);
      await stream.head;
      await other.request('ping');
      expect(JSON.stringify(stream.messages.all)).not.toContain('for ann only');
      stream.destroy();
    }
    const headers = {
      ...ann.headers,
      accept: 'text/event-stream',
      'last-event-id': event.id ?? '',
    };
    const stolen = new HttpExchange(ann.url, { headers: { ...headers, ...people.headers('bob') } });
    expect((await stolen.head).status).toBe(404);
    const { authorization: _none, ...bare } = headers as Record<string, string>;
    expect((await new HttpExchange(ann.url, { headers: bare }).head).status).toBe(401);
    const resumed = ann.openStream(event.id);
    expect(textOf(await resumed.answer(call.id))).toBe('for ann only');
  });

  it('GW-155 B10 B11 its messages are taken from its owner only, at its own address', async () => {
    const ann = await people.sse(harness, 'ann', '/servers/one/sse');
    const to = async (url: string, who: string | undefined): Promise<number> => {
      const headers = { ...POST_HEADERS, ...(who === undefined ? {} : people.headers(who)) };
      return (await send(url, { method: 'POST', headers, body: PING })).status;
    };
    const before = one.journal.messages().length;
    expect(await to(ann.postUrl, 'bob')).toBe(404);
    expect(await to(ann.postUrl, undefined)).toBe(401);
    expect(await to(ann.postUrl.replace('/one/', '/two/'), 'ann')).toBe(404);
    expect(await to(ann.postUrl.replace('/servers/one/', '/'), 'ann')).toBe(404);
    const base = ann.postUrl.split('?')[0] ?? '';
    for (const query of ['', '?', '?sessionId=', '?session=', '?sessionId=x&sessionId=y']) {
      expect([400, 404], query).toContain(await to(base + query, 'ann'));
    }
    expect(one.journal.messages()).toHaveLength(before);
    expect((await ann.request('ping')).result).toEqual({});
  });

  it('GW-155 B10 is unknown at every other address, also to its owner', async () => {
    const ann = await people.legacy(harness, 'ann', '/servers/one/mcp');
    for (const path of ['/servers/two/mcp', '/mcp']) {
      for (const who of ['ann', 'bob']) {
        const headers = { ...ann.headers, ...people.headers(who) };
        const url = harness.gateway.url + path;
        expect((await post(url, JSON.parse(PING), headers).head).status).toBe(404);
        const ended = await send(url, { method: 'DELETE', headers });
        expect(ended.status).toBe(404);
      }
    }
    expect((await ann.request('ping')).result).toEqual({});
  });

  it('B09 nobody chooses the id of a session', async () => {
    const ann = await people.legacy(harness, 'ann', '/servers/one/mcp');
    const headers = { ...people.headers('bob'), 'mcp-session-id': ann.sessionId };
    const opened = await post(harness.url(), initializeRequest(), headers).response();
    expect(opened.headers['mcp-session-id']).not.toBe(ann.sessionId);
    expect((await ann.request('ping')).result).toEqual({});
    const own = opened.headers['mcp-session-id'];
    if (typeof own !== 'string') return;
    const end = { ...POST_HEADERS, ...people.headers('bob'), 'mcp-session-id': own };
    await send(harness.url(), { method: 'DELETE', headers: end });
  });
});

describe('a remote server', () => {
  const people = new People();
  const remotes: RemoteServer[] = [];
  beforeAll(async () => {
    remotes.push(await RemoteServer.start(), await RemoteServer.start({ era: 'modern' }));
  });
  afterAll(() => Promise.all(remotes.map((remote) => remote.close())));
  const harness = useGateway(() => ({
    servers: {
      old: { url: remotes[0]?.url, transport: 'streamable-http' },
      new: { url: remotes[1]?.url, transport: 'streamable-http' },
    },
    config: people.config,
  }));

  it('GW-154 D01 B17 gets nothing of what clients came in with', async () => {
    for (const path of ['/servers/old', '/servers/new', '']) {
      const name = path === '' ? 'old__echo' : 'echo';
      const session = await people.legacy(harness, 'ann', `${path}/mcp`);
      expect((await session.call(name, { v: 1 })).result).toBeDefined();
      const modern = people.modern(harness, 'bob', `${path}/mcp`);
      expect((await modern.call(name, { v: 1 })).result).toBeDefined();
      const ws = await people.ws(harness, 'eve', `${path}/ws`);
      expect((await ws.call(name, { v: 1 })).result).toBeDefined();
      const key = { 'x-api-key': people.keys.key('ann'), 'x-forwarded-user': 'ann' };
      const other = harness.track(new ModernClient(`${harness.gateway.url}${path}/mcp`, {}, key));
      expect((await other.call(name, { v: 1 })).result).toBeDefined();
    }
    for (const { requests } of remotes) {
      const all = JSON.stringify(
        requests.map(({ rawHeaders, text, path }) => [rawHeaders, text, path]),
      );
      expect(requests.length).toBeGreaterThan(5);
      expect(all).not.toMatch(/gw_|authorization|x-api-key|x-forwarded|"ann"/i);
    }
  });
});

describe('a cursor', () => {
  const many = (prefix: string) =>
    tools(...Array.from({ length: 1100 }, (_, n) => `${prefix}_${n}`));
  const people = new People([
    { who: { groups: ['ann', 'bob'] }, servers: ['*'] },
    { who: { groups: ['eve'] }, servers: ['*'], tools: ['open_*'] },
  ]);
  const shared = new CatalogServer({ name: 's', tools: [...many('open'), ...many('zap')] });
  const own = new CatalogServer(
    { name: 'o', tools: many('of') },
    { config: { sharing: 'session' } },
  );
  const harness = useGateway(() => ({
    servers: { shared: shared.config, own: own.config },
    config: people.config,
  }));

  it.each(ERAS)('B15 of one person shows another no more than they may see: %s', async (era) => {
    const at = (name: string) =>
      era === 'legacy'
        ? people.legacy(harness, name, '/servers/shared/mcp')
        : Promise.resolve(people.modern(harness, name, '/servers/shared/mcp'));
    const ann = await at('ann');
    const eve = await at('eve');
    const cursors: unknown[] = [];
    let cursor: unknown;
    do {
      const { result } = await ann.request('tools/list', cursor === undefined ? {} : { cursor });
      cursor = result?.['nextCursor'];
      cursors.push(cursor);
    } while (cursor !== undefined && cursors.length < 5);
    expect(cursors).toHaveLength(3);
    for (const one of cursors.slice(0, 2)) {
      const { raw } = await eve.request('tools/list', { cursor: one });
      expect(raw).not.toContain('zap');
    }
    const first = await eve.request('tools/list');
    expect(first.raw).not.toContain('zap');
  });

  it('B15 of a process of one person is none for another', async () => {
    const ann = await people.legacy(harness, 'ann', '/servers/own/mcp');
    const first = await ann.request('tools/list');
    const cursor = first.result?.['nextCursor'];
    expect(cursor).toBeDefined();
    // From now on the server has other tools for whoever comes.
    own.change({ tools: many('else') });
    const bob = await people.legacy(harness, 'bob', '/servers/own/mcp');
    const stolen = await bob.request('tools/list', { cursor });
    expect(stolen.error?.code).toBe(-32_602);
    expect((await ann.request('tools/list', { cursor })).raw).toContain('of_1099');
  });
});

describe('a key', () => {
  const people = new People();
  const one = scriptedServer({ config: { sharing: 'session' } });
  const two = scriptedServer();
  const harness = useGateway(() => ({
    servers: { one: one.config, two: two.config },
    config: people.config,
  }));
  /** Waits until a key is good, or is not. */
  const known = (name: string, isGood: boolean): Promise<unknown> =>
    until(async () => {
      const { status } = await post(harness.url('two'), JSON.parse(PING), people.headers(name))
        .head;
      return (status !== 401) === isGood;
    });

  it('G08 that runs out ends sessions, their processes, streams, calls and WebSockets', async () => {
    const expires = new Date(Date.now() + 6_000).toISOString();
    people.keys.add('brief', { expires });
    await known('brief', true);
    const session = await people.legacy(harness, 'brief', '/servers/one/mcp');
    const pid = Number(textOf(await session.call('pid')));
    const stream = session.openStream();
    const ws = await people.ws(harness, 'brief', '/servers/two/ws');
    const sse = await people.sse(harness, 'brief', '/servers/two/sse');
    const modern = people.modern(harness, 'brief', '/servers/two/mcp');
    const listen = await modern.listen({ toolsListChanged: true });
    const hanging = modern.beginCall('hang', { v: 'brief' });
    const ann = await people.ws(harness, 'ann', '/servers/two/ws');
    expect(await ws.closed).toBe(1008);
    await Promise.all([
      stream.events.ended,
      sse.stream.events.ended,
      listen.events.ended,
      hanging.exchange.events.ended,
    ]);
    await waitGone([pid]);
    const call = await two.journal.waitFor(({ raw }) => raw.includes('"brief"'));
    await two.journal.waitFor(
      ({ method, params }) =>
        method === 'notifications/cancelled' && params?.['requestId'] === call.id,
    );
    expect((await ann.request('ping')).result).toEqual({});
  });

  it('G08 that is revoked ends them, too, and a call that waits for its answer', async () => {
    people.keys.add('gone');
    await known('gone', true);
    const session = await people.legacy(harness, 'gone', '/servers/one/mcp');
    const pid = Number(textOf(await session.call('pid')));
    const pending = session.beginCall('hang');
    await one.journal.waitFor(({ raw }) => raw.includes('"hang"'));
    const modern = people.modern(harness, 'gone', '/servers/two/mcp');
    const hanging = modern.beginCall('hang', { v: 'gone' });
    const listen = await modern.listen({ toolsListChanged: true });
    people.keys.revoke('gone');
    await known('gone', false);
    await waitGone([pid]);
    await Promise.all(
      [pending, hanging].map(({ exchange }) => exchange.events.ended.catch(() => undefined)),
    );
    await listen.events.ended;
    const call = await two.journal.waitFor(({ raw }) => raw.includes('"gone"'));
    await two.journal.waitFor(
      ({ method, params }) =>
        method === 'notifications/cancelled' && params?.['requestId'] === call.id,
    );
  });

  it('that gets other groups has other rights from then on, and no session of before', async () => {
    people.keys.add('mover', { groups: ['people'] });
    await known('mover', true);
    const ws = await people.ws(harness, 'mover', '/servers/two/ws');
    const session = await people.legacy(harness, 'mover', '/servers/two/mcp');
    people.keys.change('mover', { groups: ['others'] });
    expect(await ws.closed).toBe(1008);
    await until(async () => (await session.begin('ping').exchange.head).status === 404);
    const again = await people.legacy(harness, 'mover', '/servers/two/mcp');
    expect((await again.request('ping')).result).toEqual({});
  });

  it('G07 stays as it is while the file can not be used', async () => {
    const ann = await people.ws(harness, 'ann', '/servers/two/ws');
    const isRefused = (line: Json): boolean =>
      String(line['msg']).startsWith('API keys not reloaded');
    const refusals = (): number => harness.gateway.logs().filter(isRefused).length;
    const before = refusals();
    writeFileSync(people.keys.file, '{ "version": 1, "keys": [');
    await until(() => refusals() > before);
    expect((await ann.request('ping')).result).toEqual({});
    const other = await people.legacy(harness, 'bob', '/servers/two/mcp');
    expect((await other.request('ping')).result).toEqual({});
    people.keys.add('later');
    chmodSync(people.keys.file, 0o644);
    await until(() => refusals() > before + 1);
    expect(
      (await post(harness.url('two'), JSON.parse(PING), people.headers('later')).head).status,
    ).toBe(401);
    chmodSync(people.keys.file, 0o600);
    people.keys.add('latest');
    await known('latest', true);
    expect((await ann.request('ping')).result).toEqual({});
  });
});
