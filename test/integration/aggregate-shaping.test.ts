// What the configuration shows of a server, on its own paths and on endpoints that merge several: what
// is hidden is not listed and can not be used, what is renamed is used under the new name only.
import { describe, expect, it } from 'vitest';
import { CatalogServer, tools } from '../support/catalog-server.ts';
import {
  clientAt,
  ERAS,
  type EraClient,
  modernAt,
  pagesOf,
  sessionAt,
} from '../support/era-client.ts';
import { useGateway } from '../support/use-gateway.ts';
import { hasMethod, type Json, textOf } from '../support/wire-message.ts';

const CASES = ERAS.flatMap((server) => ERAS.map((client) => [client, server] as const));

async function entries(client: EraClient, method: string, member: string): Promise<Json[]> {
  return (await pagesOf(client, method, member)).flat();
}

async function namesOf(client: EraClient, method: string, member: string, key = 'name') {
  return (await entries(client, method, member)).map((entry) => entry[key]);
}

async function reached(client: EraClient, name: string): Promise<unknown> {
  return (JSON.parse(textOf(await client.call(name))) as Json)['tool'];
}

describe.each(CASES)('a %s client and a shaped %s server', (era, serverEra) => {
  const shaped = new CatalogServer(
    {
      name: 'shaped',
      tools: [
        ...tools('read_file', 'read_dir', 'write_file', 'read_secret'),
        {
          name: 'old',
          title: 'Old',
          description: 'Old text',
          'x-custom': 1,
          inputSchema: { type: 'object' },
        },
      ],
      prompts: [{ name: 'open' }, { name: 'closed' }],
      resources: [
        { uri: 'file:///pub/a', name: 'a' },
        { uri: 'file:///priv/b', name: 'b' },
      ],
      resourceTemplates: [
        { uriTemplate: 'file:///pub/{x}', name: 'p' },
        { uriTemplate: 'file:///priv/{x}', name: 'q' },
      ],
      readable: ['file:///'],
    },
    { era: serverEra },
  );
  const other = new CatalogServer(
    { name: 'other', tools: tools('echo', 'drop') },
    { era: serverEra },
  );
  const harness = useGateway(() => ({
    servers: {
      shaped: {
        ...shaped.config,
        tools: {
          allow: ['read_*', 'old'],
          deny: ['*secret*'],
          rename: { old: 'fresh' },
          overrides: {
            old: { title: 'New', description: 'New text', annotations: { readOnlyHint: true } },
          },
        },
        prompts: { deny: ['closed'] },
        resources: { allow: ['file:///pub/*'] },
      },
      other: other.config,
    },
    config: {
      endpoints: {
        '/team': {
          shape: {
            shaped: { tools: { deny: ['read_dir'], rename: { fresh: 'fresher' } } },
            other: { tools: { allow: ['echo'] } },
          },
        },
      },
    },
  }));

  it('shows the same on its own path and on endpoints, each with its own names', async () => {
    const seen = async (path: string) =>
      await namesOf(await clientAt(harness, path, era), 'tools/list', 'tools');
    expect(await seen('/servers/shaped/mcp')).toEqual(['read_file', 'read_dir', 'fresh']);
    expect(await seen('/mcp')).toEqual([
      'shaped__read_file',
      'shaped__read_dir',
      'shaped__fresh',
      'other__echo',
      'other__drop',
    ]);
    expect(await seen('/team/mcp')).toEqual([
      'shaped__read_file',
      'shaped__fresher',
      'other__echo',
    ]);
    expect(await seen('/servers/other/mcp')).toEqual(['echo', 'drop']);
  });

  it('says what it is told to, and keeps the rest of an entry', async () => {
    const client = await clientAt(harness, '/servers/shaped/mcp', era);
    const tool = (await entries(client, 'tools/list', 'tools')).find(
      ({ name }) => name === 'fresh',
    );
    expect(tool).toMatchObject({
      title: 'New',
      description: 'New text',
      annotations: { readOnlyHint: true },
      'x-custom': 1,
    });
  });

  it.each([
    ['/servers/shaped/mcp', '', ['write_file', 'read_secret', 'old']],
    ['/mcp', 'shaped__', ['write_file', 'read_secret', 'old']],
    ['/team/mcp', 'shaped__', ['write_file', 'read_secret', 'old', 'fresh', 'read_dir']],
  ])('calls at %s only what is shown', async (path, prefix, hidden) => {
    const client = await clientAt(harness, path, era);
    const before = shaped.journal.messages('tools/call').length;
    for (const name of hidden) {
      const { error } = await client.call(prefix + name);
      expect(error, name).toMatchObject({ code: -32_602 });
    }
    expect(shaped.journal.messages('tools/call')).toHaveLength(before);
    expect(await reached(client, `${prefix}read_file`)).toBe('read_file');
    const fresh = path === '/team/mcp' ? 'fresher' : 'fresh';
    expect(await reached(client, prefix + fresh)).toBe('old');
  });

  it.each([
    ['/servers/shaped/mcp', ''],
    ['/mcp', 'shaped__'],
  ])('gives prompts and resources at %s only as far as they are shown', async (path, prefix) => {
    const client = await clientAt(harness, path, era);
    expect(await namesOf(client, 'prompts/list', 'prompts')).toEqual([`${prefix}open`]);
    const { error } = await client.request('prompts/get', { name: `${prefix}closed` });
    expect(error).toMatchObject({ code: -32_602 });
    expect(await namesOf(client, 'resources/list', 'resources', 'uri')).toEqual(['file:///pub/a']);
    const templates = await namesOf(
      client,
      'resources/templates/list',
      'resourceTemplates',
      'name',
    );
    expect(templates).toEqual(['p']);
    const read = async (uri: string) => await client.request('resources/read', { uri });
    expect((await read('file:///pub/a')).error).toBe(undefined);
    expect((await read('file:///pub/new')).error).toBe(undefined);
    const before = shaped.journal.messages().length;
    const hidden = [
      'file:///priv/b',
      'file:///pub/../priv/b',
      'file:///pub/%2e%2e/priv/b',
      'FILE:///priv/b',
      'file:///pub/..%2fpriv/b',
      'shaped+file:///priv/b',
    ];
    for (const uri of hidden) {
      const code = era === 'legacy' ? -32_002 : -32_602;
      expect((await read(uri)).error?.code, uri).toBe(code);
    }
    expect(shaped.journal.messages()).toHaveLength(before);
  });

  it('completes nothing of what is hidden', async () => {
    const client = await clientAt(harness, '/mcp', era);
    const complete = async (ref: Json) =>
      await client.request('completion/complete', { ref, argument: { name: 'x', value: '' } });
    expect((await complete({ type: 'ref/resource', uri: 'file:///pub/{x}' })).error).toBe(
      undefined,
    );
    const before = shaped.journal.messages('completion/complete').length;
    const hidden = [
      { type: 'ref/resource', uri: 'file:///priv/{x}' },
      { type: 'ref/resource', uri: 'shaped+file:///priv/{x}' },
      { type: 'ref/prompt', name: 'shaped__closed' },
    ];
    for (const ref of hidden)
      expect((await complete(ref)).error, JSON.stringify(ref)).toBeDefined();
    expect(shaped.journal.messages('completion/complete')).toHaveLength(before);
  });

  it.each(['/servers/shaped/mcp', '/mcp'])(
    'lets nobody watch at %s what is hidden',
    async (path) => {
      const hidden = 'file:///priv/b';
      const watchedUris = (): string =>
        JSON.stringify(
          shaped.journal.messages().filter(({ method }) => /subscribe|listen/.test(method ?? '')),
        );
      if (era === 'legacy') {
        const session = await sessionAt(harness, path);
        const subscribe = async (uri: string) =>
          await session.request('resources/subscribe', { uri });
        expect((await subscribe('file:///pub/a')).result).toEqual({});
        expect((await subscribe(hidden)).error).toMatchObject({ code: -32_002 });
      } else {
        const client = modernAt(harness, path);
        const uris = ['file:///pub/a', hidden];
        const stream = await client.listen({ resourceSubscriptions: uris });
        expect(
          stream.messages.all.find(hasMethod('notifications/subscriptions/acknowledged')),
        ).toMatchObject({
          params: { notifications: { resourceSubscriptions: ['file:///pub/a'] } },
        });
      }
      expect(watchedUris()).toContain('file:///pub/a');
      expect(watchedUris()).not.toContain('priv');
    },
  );
});

describe('one default path', () => {
  const only = new CatalogServer({ name: 'only', tools: tools('a', 'b') });
  const harness = useGateway(() => ({
    servers: { only: { ...only.config, tools: { deny: ['b'] } } },
  }));

  it.each(ERAS)('shows a server alone as it is shaped (%s)', async (era) => {
    const client = await clientAt(harness, '/mcp', era);
    expect(await namesOf(client, 'tools/list', 'tools')).toEqual(['a']);
    expect((await client.call('b')).error).toMatchObject({ code: -32_602 });
  });
});
