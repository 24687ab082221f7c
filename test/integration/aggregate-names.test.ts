// Names of tools and prompts where one endpoint shows several servers: which there are, whose they
// are, and that a call reaches its own server under the server's own name
// (docs/protocol.md#merged-endpoints).
import { describe, expect, it } from 'vitest';
import { CatalogServer, tools } from '../support/catalog-server.ts';
import { clientAt, ERAS, type EraClient, pagesOf, toolNames } from '../support/era-client.ts';
import { useGateway } from '../support/use-gateway.ts';
import { type Json, textOf } from '../support/wire-message.ts';

/** The strictest model API. */
const VALID = /^[A-Za-z0-9_-]{1,64}$/;
const CASES = ERAS.flatMap((server) => ERAS.map((client) => [client, server] as const));

async function reached(client: EraClient, name: string, args: Json = {}): Promise<Json> {
  return JSON.parse(textOf(await client.call(name, args))) as Json;
}

async function promptReached(client: EraClient, name: string): Promise<Json> {
  const { result, raw } = await client.request('prompts/get', { name });
  const [message] = (result?.['messages'] ?? []) as { content: { text: string } }[];
  if (message === undefined) throw new Error(`no prompt: ${raw}`);
  return JSON.parse(message.content.text) as Json;
}

describe.each(CASES)('a %s client and two %s servers', (era, serverEra) => {
  const search = (name: string): CatalogServer =>
    new CatalogServer(
      { name, tools: tools('search', `only_${name}`), prompts: [{ name: 'ask' }] },
      { era: serverEra },
    );
  const first = search('first');
  const second = search('second');
  const harness = useGateway(() => ({ servers: { first: first.config, second: second.config } }));

  it('GW-100: lists a tool of both under two valid names', async () => {
    const client = await clientAt(harness, '/mcp', era);
    const names = await toolNames(client);
    expect(names).toEqual([
      'first__search',
      'first__only_first',
      'second__search',
      'second__only_second',
    ]);
    for (const name of names) expect(name).toMatch(VALID);
  });

  it('GW-100: carries each call to its own server, under its own name', async () => {
    const client = await clientAt(harness, '/mcp', era);
    const answers = await Promise.all(
      ['first', 'second', 'first'].map((key) => reached(client, `${key}__search`, { q: key })),
    );
    for (const [index, server] of ['first', 'second', 'first'].entries()) {
      expect(answers[index]).toMatchObject({ server, tool: 'search', args: { q: server } });
    }
  });

  it('GW-100: does the same for prompts', async () => {
    const client = await clientAt(harness, '/mcp', era);
    const pages = await pagesOf(client, 'prompts/list', 'prompts');
    expect(pages.flat().map(({ name }) => name)).toEqual(['first__ask', 'second__ask']);
    expect(await promptReached(client, 'second__ask')).toEqual({ server: 'second', prompt: 'ask' });
  });

  it('refuses names that nobody has, also the servers own, and asks no server', async () => {
    const client = await clientAt(harness, '/mcp', era);
    for (const name of ['search', 'third__search', 'first__nothing', 'first__', '']) {
      const { error } = await client.call(name);
      expect(error, name).toMatchObject({ code: -32_602 });
    }
    const { error } = await client.request('prompts/get', { name: 'ask' });
    expect(error).toMatchObject({ code: -32_602 });
    const asked = [first, second].flatMap(({ journal }) => journal.messages('tools/call'));
    expect(
      asked.filter(({ params }) => !/^(search|only_\w+)$/.test(String(params?.['name']))),
    ).toEqual([]);
  });
});

/** Whether a line says that `two` does not keep its `search`, since `one` has the name. */
const isAboutSearch = ({ first }: Record<string, unknown>): boolean =>
  JSON.stringify(first)?.includes('{"server":"two","name":"search","keptBy":"one"}') === true;

describe('M01 names that are too long, foreign, or look alike', () => {
  const long = `t${'o'.repeat(58)}l`;
  const key = 'a-server-whose-name-has-32-chars';
  const odd = ['with.dot', 'with/slash', 'ünïcode', 'spaced name', `${long}.1`, `${long}/1`, '_x'];
  const strange = new CatalogServer({ name: 'strange', tools: tools(long, ...odd) });
  // The names of these two would be one: a + b__c, a__b can't be a key, but a tool may hold the rest.
  const a = new CatalogServer({ name: 'a', tools: tools('b__c', 'x_y') });
  const ab = new CatalogServer({ name: 'a-b', tools: tools('c', 'x.y', 'x_y', 'x/y') });
  const harness = useGateway(() => ({
    servers: { [key]: strange.config, a: a.config, 'a-b': ab.config },
  }));

  it.each(ERAS)('trial 66: makes valid, distinct names that reach the tool (%s)', async (era) => {
    const client = await clientAt(harness, '/mcp', era);
    const names = await toolNames(client);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(VALID);
    const expected = [
      ...[long, ...odd].map((tool) => ({ server: 'strange', tool })),
      { server: 'a', tool: 'b__c' },
      { server: 'a', tool: 'x_y' },
      ...['c', 'x.y', 'x_y', 'x/y'].map((tool) => ({ server: 'a-b', tool })),
    ];
    expect(names).toHaveLength(expected.length);
    for (const [index, name] of names.entries()) {
      expect(await reached(client, name)).toMatchObject(expected[index] ?? {});
    }
  });

  it('trial 66: gives them to everybody, in both eras', async () => {
    const [legacy, modern] = [
      await clientAt(harness, '/mcp', 'legacy'),
      await clientAt(harness, '/mcp', 'modern'),
    ];
    expect(await toolNames(legacy)).toEqual(await toolNames(modern));
  });
});

describe('the prefix as the endpoint has it', () => {
  const one = new CatalogServer({
    name: 'one',
    tools: tools('search', 'mine'),
    prompts: [{ name: 'p' }],
  });
  const two = new CatalogServer({
    name: 'two',
    tools: tools('search', 'other'),
    prompts: [{ name: 'p' }],
  });
  const harness = useGateway(() => ({
    servers: { one: one.config, two: two.config },
    config: {
      endpoints: {
        '/never': { prefix: 'never' },
        '/turned': { prefix: 'never', servers: ['two', 'one'] },
        '/conflict': { prefix: 'onConflict' },
        '/dash': { separator: '-' },
        '/single': { servers: ['one'] },
        '/deep/er.path': { servers: ['two'], prefix: 'never' },
      },
    },
  }));

  it.each(ERAS)(
    'trial 67: says which server keeps a name and which one lost it (%s)',
    async (era) => {
      const client = await clientAt(harness, '/never/mcp', era);
      expect(await toolNames(client)).toEqual(['search', 'mine', 'other']);
      expect(await reached(client, 'search')).toMatchObject({ server: 'one' });
      expect(await reached(client, 'other')).toMatchObject({ server: 'two' });
      const line = await harness.gateway.waitForLog(isAboutSearch);
      expect(line).toMatchObject({ count: 1, level: 'warn' });
    },
  );

  it('trial 67: reports it once', async () => {
    await toolNames(await clientAt(harness, '/never/mcp', 'legacy'));
    await toolNames(await clientAt(harness, '/never/mcp', 'modern'));
    // Each endpoint says it for itself, and `/turned` has the other order.
    expect(harness.gateway.logs().filter(isAboutSearch)).toHaveLength(1);
  });

  it('trial 67: lets the order of the endpoint or the file decide, always the same', async () => {
    const client = await clientAt(harness, '/turned/mcp', 'legacy');
    const { server } = await reached(client, 'search');
    const again = await clientAt(harness, '/turned/mcp', 'modern');
    expect((await reached(again, 'search'))['server']).toBe(server);
  });

  it('prefixes only what several have with onConflict', async () => {
    const client = await clientAt(harness, '/conflict/mcp', 'legacy');
    expect(await toolNames(client)).toEqual(['one__search', 'mine', 'two__search', 'other']);
    expect(await reached(client, 'two__search')).toMatchObject({ server: 'two', tool: 'search' });
  });

  it('takes another separator, and a prefix where there is but one server', async () => {
    const dash = await clientAt(harness, '/dash/mcp', 'modern');
    expect(await toolNames(dash)).toContain('two-search');
    expect(await reached(dash, 'two-search')).toMatchObject({ server: 'two' });
    expect(await toolNames(await clientAt(harness, '/single/mcp', 'legacy'))).toEqual([
      'one__search',
      'one__mine',
    ]);
    expect(await toolNames(await clientAt(harness, '/deep/er.path/mcp', 'modern'))).toEqual([
      'search',
      'other',
    ]);
  });
});
