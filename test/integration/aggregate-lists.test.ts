// The lists of an endpoint that shows several servers: read whole from each, given in pages, kept
// until they change, and never worse than what the servers that answer have
// (docs/protocol.md#merged-endpoints).
import { describe, expect, it } from 'vitest';
import { CatalogServer, tools } from '../support/catalog-server.ts';
import {
  clientAt,
  ERAS,
  type EraClient,
  modernAt,
  pagesOf,
  sessionAt,
  toolNames,
} from '../support/era-client.ts';
import type { HttpExchange } from '../support/http-client.ts';
import type { LegacySession } from '../support/legacy-session.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useGateway } from '../support/use-gateway.ts';
import { hasMethod, type Json, textOf } from '../support/wire-message.ts';

const TOOLS_CHANGED = 'notifications/tools/list_changed';
const numbered = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

/** A stream of a session that is open: what comes next reaches it. */
async function openStream(session: LegacySession): Promise<HttpExchange> {
  const stream = session.openStream();
  await stream.head;
  return stream;
}

const countOf = (stream: HttpExchange, method: string): number =>
  stream.messages.all.filter(hasMethod(method)).length;

describe.each(ERAS)('pages of %s servers', (era) => {
  const paged = new CatalogServer(
    { name: 'paged', tools: tools(...numbered('p', 7)), page: 3 },
    { era },
  );
  const empty = new CatalogServer(
    { name: 'empty', tools: tools(...numbered('e', 4)), page: 2, secondCursor: '' },
    { era },
  );
  const endless = new CatalogServer(
    { name: 'endless', tools: tools('one'), page: 1, isEndless: true },
    { era },
  );
  const harness = useGateway(() => ({
    servers: { paged: paged.config, empty: empty.config, endless: endless.config },
    config: { endpoints: { '/two': { servers: ['paged', 'empty'] } } },
  }));

  it.each(ERAS)(
    'GW-101, trial 64: follows every page, also from an empty cursor (%s)',
    async (to) => {
      const client = await clientAt(harness, '/two/mcp', to);
      expect(await toolNames(client)).toEqual([
        ...numbered('paged__p', 7),
        ...numbered('empty__e', 4),
      ]);
      expect(JSON.parse(textOf(await client.call('empty__e3')))).toMatchObject({ tool: 'e3' });
      const cursors = empty.journal.messages('tools/list').map(({ params }) => params?.['cursor']);
      expect(cursors).toContain('');
    },
  );

  it.each(ERAS)('GW-101: ends where a server goes on for ever (%s)', async (to) => {
    const client = await clientAt(harness, '/mcp', to);
    expect(await toolNames(client)).toEqual([
      ...numbered('paged__p', 7),
      ...numbered('empty__e', 4),
      'endless__one',
    ]);
  });

  it.each(ERAS)('GW-101: refuses cursors that it never gave (%s)', async (to) => {
    const client = await clientAt(harness, '/two/mcp', to);
    const forged = Buffer.from('0123456789abcdef.3').toString('base64url');
    for (const cursor of ['', 'garbage', '3', '%00', forged, 7, null, {}, ['x']]) {
      const { error } = await client.request('tools/list', { cursor });
      expect(error, JSON.stringify(cursor)).toMatchObject({ code: -32_602 });
    }
  });

  it('reads the lists once for all clients', async () => {
    const before = paged.journal.messages('tools/list').length;
    const clients = await Promise.all(
      ERAS.flatMap((to) => [clientAt(harness, '/two/mcp', to), clientAt(harness, '/mcp', to)]),
    );
    await Promise.all(clients.map((client) => toolNames(client)));
    expect(before).toBeGreaterThan(0);
    expect(paged.journal.messages('tools/list')).toHaveLength(before);
  });
});

describe('M04 pages to clients', () => {
  const many = new CatalogServer({ name: 'many', tools: tools(...numbered('m', 1_500)) });
  const more = new CatalogServer({ name: 'more', tools: tools(...numbered('n', 800)) });
  const heavy = new CatalogServer({
    name: 'heavy',
    tools: tools(...numbered('h', 3)).map((tool) => ({
      ...tool,
      description: 'x'.repeat(1 << 20),
    })),
  });
  const harness = useGateway(() => ({
    servers: { many: many.config, more: more.config, heavy: heavy.config },
    config: {
      endpoints: { '/many': { servers: ['many', 'more'] }, '/heavy': { servers: ['heavy'] } },
    },
  }));

  it.each(ERAS)('GW-101: gives every tool once, and an end (%s)', async (era) => {
    const client = await clientAt(harness, '/many/mcp', era);
    const pages = await pagesOf(client, 'tools/list', 'tools');
    expect(pages.length).toBeGreaterThan(1);
    expect(pages.flat().map(({ name }) => name)).toEqual([
      ...numbered('many__m', 1_500),
      ...numbered('more__n', 800),
    ]);
  });

  it.each(ERAS)('GW-101: bounds a page by its bytes too (%s)', async (era) => {
    const client = await clientAt(harness, '/heavy/mcp', era);
    const pages = await pagesOf(client, 'tools/list', 'tools');
    expect(pages.map((page) => page.length)).toEqual([1, 1, 1]);
  });

  it.each(ERAS)(
    'GW-101: goes on with the old list, or says that it is none now (%s)',
    async (era) => {
      const client = await clientAt(harness, '/many/mcp', era);
      const first = await client.request('tools/list');
      const cursor = first.result?.['nextCursor'];
      const name = `late_${era}`;
      more.change({ tools: tools(...numbered('n', 800), name) });
      await client.call('more__n0', { notify: { kind: 'tools' } });
      await until(async () => (await toolNames(client)).includes(`more__${name}`));
      const second = await client.request('tools/list', { cursor });
      const names = ((second.result?.['tools'] ?? []) as Json[]).map((tool) => tool['name']);
      // The rest of the same list, never a mixture of two.
      if (second.error === undefined) expect(names[0]).toBe('many__m1000');
      else expect(second.error.code).toBe(-32_602);
      const other = await clientAt(harness, '/heavy/mcp', era);
      const elsewhere = await other.request('tools/list', { cursor });
      expect(elsewhere.error).toMatchObject({ code: -32_602 });
      const ofOtherKind = await client.request('prompts/list', { cursor });
      expect(ofOtherKind.error).toMatchObject({ code: -32_602 });
    },
  );
});

describe('a server that is not there', () => {
  const alive = new CatalogServer({ name: 'alive', tools: tools('a') });
  const dead = scriptedServer({ args: ['--exit-before-init'] });
  const harness = useGateway(() => ({
    servers: { dead: dead.config, alive: alive.config, missing: { command: '/does/not/exist' } },
    config: { endpoints: { '/dead': { servers: ['dead', 'missing'], listTimeout: '2s' } } },
  }));

  it.each(ERAS)('GW-102: costs its own tools and nothing else (%s)', async (era) => {
    const client = await clientAt(harness, '/mcp', era);
    expect(await toolNames(client)).toEqual(['alive__a']);
    expect(JSON.parse(textOf(await client.call('alive__a')))).toMatchObject({ server: 'alive' });
    const { error } = await client.call('dead__echo');
    expect(error).toMatchObject({ data: { reason: 'server_unavailable', server: 'dead' } });
    expect((await client.call('alive__none')).error).toMatchObject({ code: -32_602 });
  });

  it('GW-102: lists nothing where every server is dead (modern)', async () => {
    expect(await toolNames(modernAt(harness, '/dead/mcp'))).toEqual([]);
  });

  it('GW-102: is said where a session needs one (legacy)', async () => {
    await expect(sessionAt(harness, '/dead/mcp')).rejects.toThrow(/server_/);
  });
});

describe.each(ERAS)('a %s server that never answers its list', (era) => {
  const quick = new CatalogServer({ name: 'quick', tools: tools('q') }, { era });
  const mute = new CatalogServer(
    { name: 'mute', tools: tools('m'), held: ['tools/list'] },
    { era },
  );
  const stuck = scriptedServer({ args: ['--never-read'] });
  const harness = useGateway(() => ({
    servers: { quick: quick.config, mute: mute.config, stuck: stuck.config },
    config: { endpoints: { '/slow': { listTimeout: '200ms' } } },
    waitReady: false,
  }));

  it.each(ERAS)('GW-102: is left out after listTimeout, time and again (%s)', async (to) => {
    // From now on the quick one is up, and its list known.
    await toolNames(await sessionAt(harness, '/servers/quick/mcp'));
    const client = await clientAt(harness, '/slow/mcp', to);
    await until(async () => (await toolNames(client)).includes('quick__q'));
    expect(await toolNames(client)).toEqual(['quick__q']);
    expect(JSON.parse(textOf(await client.call('quick__q')))).toMatchObject({ server: 'quick' });
  });
});

describe.each(ERAS)('a %s server that comes later', (era) => {
  const first = new CatalogServer({ name: 'first', tools: tools('f'), prompts: [] }, { era });
  const held = ['initialize', 'server/discover'];
  const late = new CatalogServer({ name: 'late', tools: tools('l'), held }, { era });
  const harness = useGateway(() => ({
    servers: { first: first.config, late: late.config },
    config: { endpoints: { '/few': { listTimeout: '200ms' } } },
    waitReady: false,
  }));

  it('GW-102: is told once to who was given a list without it, and is there then', async () => {
    await toolNames(await sessionAt(harness, '/servers/first/mcp'));
    const session = await sessionAt(harness, '/few/mcp');
    const stream = await openStream(session);
    await until(async () => (await toolNames(session)).includes('first__f'));
    expect(await toolNames(session)).toEqual(['first__f']);
    expect(countOf(stream, TOOLS_CHANGED)).toBe(0);
    late.change({ held: [] });
    await stream.messages.next(hasMethod(TOOLS_CHANGED), 60_000);
    await until(async () => (await toolNames(session)).includes('late__l'));
    expect(JSON.parse(textOf(await session.call('late__l')))).toMatchObject({ server: 'late' });
    // Something that comes later on the same stream: nothing else is on its way.
    await session.call('first__f', { notify: { kind: 'prompts' } });
    await stream.messages.next(hasMethod('notifications/prompts/list_changed'));
    expect(countOf(stream, TOOLS_CHANGED)).toBe(1);
  });
});

describe('a list that comes later', () => {
  const first = new CatalogServer({ name: 'first', tools: tools('f') });
  const slow = new CatalogServer({ name: 'slow', tools: tools('s'), held: ['tools/list'] });
  const harness = useGateway(() => ({
    servers: { first: first.config, slow: slow.config },
    config: { endpoints: { '/few': { listTimeout: '200ms' } } },
  }));

  it('GW-102: is told to sessions and listen streams that lacked it', async () => {
    const session = await sessionAt(harness, '/few/mcp');
    const stream = await openStream(session);
    const modern = modernAt(harness, '/few/mcp');
    const listen = await modern.listen({ toolsListChanged: true });
    await until(async () => (await toolNames(session)).includes('first__f'));
    expect(await toolNames(session)).toEqual(['first__f']);
    expect(await toolNames(modern)).toEqual(['first__f']);
    slow.change({ held: [] });
    await stream.messages.next(hasMethod(TOOLS_CHANGED));
    await listen.messages.next(hasMethod(TOOLS_CHANGED));
    for (const client of [session, modern]) {
      expect(await toolNames(client)).toEqual(['first__f', 'slow__s']);
      expect(JSON.parse(textOf(await client.call('slow__s')))).toMatchObject({ server: 'slow' });
    }
  });
});

describe('lists that change', () => {
  const one = new CatalogServer({ name: 'one', tools: tools('t'), prompts: [{ name: 'p' }] });
  const two = scriptedServer({ args: ['--restart-tools'] });
  const harness = useGateway(() => ({ servers: { one: one.config, two: two.config } }));

  it('GW-099: tells sessions and listen streams once, and shows what is new', async () => {
    const session = await sessionAt(harness, '/mcp');
    const stream = await openStream(session);
    const modern = modernAt(harness, '/mcp');
    const listen = await modern.listen({ toolsListChanged: true });
    expect(await toolNames(modern)).not.toContain('one__added');
    one.change({ tools: tools('t', 'added') });
    await session.call('one__t', { notify: { kind: 'tools' } });
    await stream.messages.next(hasMethod(TOOLS_CHANGED));
    await listen.messages.next(hasMethod(TOOLS_CHANGED));
    for (const client of [session, modern] as EraClient[]) {
      expect(await toolNames(client)).toContain('one__added');
      expect(JSON.parse(textOf(await client.call('one__added')))).toMatchObject({ tool: 'added' });
    }
    one.change({ tools: tools('t') });
    await session.call('one__t', { notify: { kind: 'tools' } });
    await until(() => countOf(stream, TOOLS_CHANGED) === 2);
    for (const client of [session, modern] as EraClient[]) {
      expect(await toolNames(client)).not.toContain('one__added');
      expect((await client.call('one__added')).error).toMatchObject({ code: -32_602 });
    }
  });

  it('GW-099: tells of a killed server that comes back with other tools', async () => {
    const session = await sessionAt(harness, '/mcp');
    const stream = await openStream(session);
    const listen = await modernAt(harness, '/mcp').listen({ toolsListChanged: true });
    expect(await toolNames(session)).toContain('two__generation_1');
    await session.call('two__die');
    await stream.messages.next(hasMethod(TOOLS_CHANGED));
    await listen.messages.next(hasMethod(TOOLS_CHANGED));
    const names = await toolNames(session);
    expect(names).toContain('two__generation_2');
    expect(names).not.toContain('two__generation_1');
    expect(names).toContain('one__t');
    await session.call('one__t', { notify: { kind: 'prompts' } });
    await stream.messages.next(hasMethod('notifications/prompts/list_changed'));
    expect(countOf(stream, TOOLS_CHANGED)).toBe(1);
    expect(countOf(listen, TOOLS_CHANGED)).toBe(1);
  });
});

describe('what an endpoint says of itself', () => {
  const files = new CatalogServer({
    name: 'files',
    tools: tools('t'),
    resources: [],
    instructions: 'Read before you write.',
  });
  const words = new CatalogServer({
    name: 'words',
    prompts: [],
    capabilities: { prompts: {}, experimental: { x: {} } },
    instructions: 'Be kind.',
  });
  const plain = new CatalogServer({
    name: 'plain',
    tools: tools('u'),
    capabilities: { tools: {} },
  });
  const harness = useGateway(() => ({
    servers: { files: files.config, words: words.config, plain: plain.config },
    config: {
      endpoints: { '/plain': { servers: ['plain'] }, '/half': { servers: ['plain', 'words'] } },
    },
  }));
  const capabilities = {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    completions: {},
    logging: {},
  };
  const named = (prefix: string): string =>
    `Here NAME of a tool or prompt is called ${prefix}NAME.`;
  const instructions = [
    `## files\n${named('files__')}\nRead before you write.`,
    `## words\n${named('words__')}\nBe kind.`,
  ].join('\n\n');

  it('merges capabilities and instructions for a session', async () => {
    const { initializeAnswer } = await sessionAt(harness, '/mcp');
    expect(initializeAnswer.result).toMatchObject({
      capabilities,
      instructions,
      serverInfo: { name: 'sluice' },
    });
  });

  it('merges them for a modern client', async () => {
    const { result } = await modernAt(harness, '/mcp').request('server/discover');
    expect(result).toMatchObject({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities,
      instructions,
      cacheScope: 'private',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'sluice' } },
    });
  });

  it('offers nothing that no server has', async () => {
    const { initializeAnswer } = await sessionAt(harness, '/half/mcp');
    const offered = initializeAnswer.result?.['capabilities'] as Json;
    expect(Object.keys(offered).toSorted()).toEqual(['prompts', 'tools']);
    const session = await sessionAt(harness, '/half/mcp');
    for (const method of ['completion/complete', 'logging/setLevel', 'resources/read']) {
      const params = {
        level: 'info',
        uri: 'x:y',
        ref: { type: 'ref/resource', uri: 'x:y' },
        argument: {},
      };
      const { error } = await session.request(method, params);
      expect(error, method).toMatchObject({ code: -32_601 });
    }
  });
});
