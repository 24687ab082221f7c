// Private servers behind an endpoint of several: what a client is told that can't have one, when it has
// one after all, and that a modern request takes a lease only where it goes.
import { describe, expect, it } from 'vitest';
import { CatalogServer, tools } from '../support/catalog-server.ts';
import {
  ERAS,
  type Era,
  type EraClient,
  modernAt,
  sessionAt,
  toolNames,
} from '../support/era-client.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useGateway } from '../support/use-gateway.ts';
import { hasMethod, textOf } from '../support/wire-message.ts';

const TOOLS_CHANGED = 'notifications/tools/list_changed';

describe('a server without a lease for a client', () => {
  const own = scriptedServer({ config: { sharing: 'session' } });
  const shared = scriptedServer();
  const harness = useGateway(() => ({
    servers: { own: own.config, shared: shared.config },
    config: { processes: { maxPerPrincipal: 1 } },
  }));
  const client = async (era: Era): Promise<EraClient> =>
    era === 'legacy' ? await sessionAt(harness, '/mcp') : modernAt(harness, '/mcp');

  it.each(ERAS)('is left out of lists, and calls of its names say why (%s)', async (era) => {
    const holder = await sessionAt(harness, '/servers/own/mcp');
    await holder.openStream().head;
    const late = await client(era);
    const names = await toolNames(late);
    expect(names).toContain('shared__echo');
    expect(names).not.toContain('own__echo');
    const overloaded = {
      code: -32_603,
      data: { reason: 'overloaded', outcome: 'not_sent', server: 'own' },
    };
    expect((await late.call('own__echo')).error).toMatchObject(overloaded);
    const prompt = await late.request('prompts/get', { name: 'own__p' });
    expect(prompt.error).toMatchObject(overloaded);
    for (const name of ['shared__none', 'echo', 'none__echo']) {
      expect((await late.call(name)).error, name).toMatchObject({ code: -32_602 });
    }
    expect(textOf(await late.call('shared__echo', { a: 1 }))).toBe('{"a":1}');
    await holder.delete();
    await until(async () => (await late.call('own__echo', { a: 1 })).error === undefined);
    expect(await toolNames(late)).toContain('own__echo');
    expect((await late.call('own__none')).error).toMatchObject({ code: -32_602 });
  });

  it('tells a session of its lists when there is one, at the level that it has set', async () => {
    const holder = await sessionAt(harness, '/servers/own/mcp');
    await holder.openStream().head;
    const session = await sessionAt(harness, '/mcp');
    const stream = session.openStream();
    await stream.head;
    expect(await toolNames(session)).not.toContain('own__echo');
    await session.request('logging/setLevel', { level: 'critical' });
    const before = own.journal.starts.length;
    await holder.delete();
    await until(async () => {
      await session.request('ping');
      await session.call('shared__echo');
      return own.journal.starts.length > before;
    });
    await stream.messages.next(hasMethod(TOOLS_CHANGED));
    expect(await toolNames(session)).toContain('own__echo');
    const levels = own.journal.messages('logging/setLevel');
    expect(levels.at(-1)?.params).toEqual({ level: 'critical' });
  });
});

describe.each(ERAS)('a server that does not list its tools in time (%s)', (era) => {
  const slow = new CatalogServer({ name: 'slow', tools: tools('s'), held: ['tools/list'] });
  const first = new CatalogServer({ name: 'first', tools: tools('f') });
  const harness = useGateway(() => ({
    servers: { first: first.config, slow: slow.config },
    config: { endpoints: { '/few': { listTimeout: '200ms' } } },
  }));

  it('is why a call of its name fails, until it does', async () => {
    const client =
      era === 'legacy' ? await sessionAt(harness, '/few/mcp') : modernAt(harness, '/few/mcp');
    expect((await client.call('slow__s')).error).toMatchObject({
      code: -32_603,
      data: { reason: 'server_timeout', outcome: 'not_sent', server: 'slow' },
    });
    expect((await client.call('first__s')).error).toMatchObject({ code: -32_602 });
    slow.change({ held: [] });
    await until(async () => (await client.call('slow__s')).error === undefined);
    expect((await client.call('slow__none')).error).toMatchObject({ code: -32_602 });
  });
});

describe('a modern request to several private servers', () => {
  const config = { sharing: 'principal' };
  const servers = { one: scriptedServer({ config }), two: scriptedServer({ config }) };
  const shared = scriptedServer();
  const harness = useGateway(() => ({
    servers: { one: servers.one.config, two: servers.two.config, shared: shared.config },
  }));

  it('starts the one that it goes to; only who wants to see all lists starts all', async () => {
    const client = modernAt(harness, '/mcp');
    expect(textOf(await client.call('shared__echo', { a: 1 }))).toBe('{"a":1}');
    expect(servers.one.journal.starts).toHaveLength(0);
    expect(textOf(await client.call('one__count'))).toBe('1');
    await client.request('resources/read', { uri: 'one+test://one' });
    await client.call('one__none');
    expect(servers.two.journal.starts).toHaveLength(0);
    expect(await toolNames(client)).toContain('two__count');
    expect(textOf(await client.call('one__count'))).toBe('2');
    expect(servers.one.journal.starts).toHaveLength(1);
    expect(servers.two.journal.starts).toHaveLength(1);
    // Whoever wants to know something of its tools: they are read once.
    expect(servers.one.journal.messages('tools/list')).toHaveLength(1);
  });
});

describe('a list of a private server that comes later', () => {
  const held = ['tools/list'];
  const slow = new CatalogServer(
    { name: 'slow', tools: tools('s'), held },
    { config: { sharing: 'principal' } },
  );
  const first = new CatalogServer({ name: 'first', tools: tools('f') });
  const harness = useGateway(() => ({
    servers: { first: first.config, slow: slow.config },
    config: { endpoints: { '/few': { listTimeout: '200ms' } } },
  }));

  it('GW-102: is told to the listen streams of whoever lacked it', async () => {
    const client = modernAt(harness, '/few/mcp');
    const listen = await client.listen({ toolsListChanged: true });
    expect(await toolNames(client)).toEqual(['first__f']);
    slow.change({ held: [] });
    await listen.messages.next(hasMethod(TOOLS_CHANGED));
    expect(await toolNames(client)).toEqual(['first__f', 'slow__s']);
  });
});
