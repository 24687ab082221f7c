// URIs where one endpoint shows several servers: each can be read where it was seen, whatever carried
// it, and changes are told of under the name that the client knows (docs/protocol.md#merged-endpoints).
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
import { scriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useGateway } from '../support/use-gateway.ts';
import { hasMethod, type Json } from '../support/wire-message.ts';

const UPDATED = 'notifications/resources/updated';
const CASES = ERAS.flatMap((server) => ERAS.map((client) => [client, server] as const));
const named = (uri: string): Json => ({ uri, name: uri });

/** Entries of a list by the member that names them. */
async function listed(client: EraClient, method: string, member: string, key: string) {
  return (await pagesOf(client, method, member)).flat().map((entry) => entry[key]);
}

const resources = (client: EraClient) => listed(client, 'resources/list', 'resources', 'uri');

/** Reads a URI. @returns what the contents say their URI is, and their text */
async function read(client: EraClient, uri: unknown): Promise<{ uri: string; text: string }> {
  const { result, raw } = await client.request('resources/read', { uri });
  const [contents] = (result?.['contents'] ?? []) as { uri: string; text: string }[];
  if (contents === undefined) throw new Error(`no contents: ${raw}`);
  return { uri: contents.uri, text: contents.text };
}

describe.each(CASES)('a %s client and %s servers with resources', (era, serverEra) => {
  // One URI that both have, one each, a template each, and what no list names.
  const fs = new CatalogServer(
    {
      name: 'fs',
      tools: tools('t'),
      resources: ['file:///a.txt', 'note://mine'].map(named),
      resourceTemplates: [{ uriTemplate: 'page://{id}', name: 'page' }],
      prompts: [
        {
          name: 'with',
          messages: [
            {
              role: 'user',
              content: { type: 'resource', resource: { uri: 'file:///a.txt', text: 'a' } },
            },
            { role: 'user', content: { type: 'resource_link', uri: 'page://7', name: 'p' } },
          ],
        },
      ],
      readable: ['page://', 'file:///tmp/', 'hidden://'],
    },
    { era: serverEra },
  );
  const db = new CatalogServer(
    {
      name: 'db',
      tools: tools('t'),
      resources: ['file:///a.txt', 'table://users'].map(named),
      resourceTemplates: [{ uriTemplate: 'row://{table}/{id}', name: 'row' }],
      prompts: [{ name: 'with' }],
      readable: ['row://', 'secret://'],
    },
    { era: serverEra },
  );
  const harness = useGateway(() => ({ servers: { fs: fs.config, db: db.config } }));

  it('GW-103: lists what both have under two URIs that read back exactly', async () => {
    const client = await clientAt(harness, '/mcp', era);
    expect(await resources(client)).toEqual([
      'fs+file:///a.txt',
      'note://mine',
      'db+file:///a.txt',
      'table://users',
    ]);
    expect(await read(client, 'fs+file:///a.txt')).toEqual({
      uri: 'fs+file:///a.txt',
      text: 'file:///a.txt of fs',
    });
    expect(await read(client, 'db+file:///a.txt')).toEqual({
      uri: 'db+file:///a.txt',
      text: 'file:///a.txt of db',
    });
    expect(await read(client, 'table://users')).toEqual({
      uri: 'table://users',
      text: 'table://users of db',
    });
  });

  it('GW-103: reads what no list names: of a template, of a scheme, of whoever has it', async () => {
    const client = await clientAt(harness, '/mcp', era);
    expect(
      await listed(client, 'resources/templates/list', 'resourceTemplates', 'uriTemplate'),
    ).toEqual(['page://{id}', 'row://{table}/{id}']);
    expect((await read(client, 'row://users/7')).text).toBe('row://users/7 of db');
    expect((await read(client, 'page://1')).text).toBe('page://1 of fs');
    expect((await read(client, 'fs+file:///tmp/x')).text).toBe('file:///tmp/x of fs');
    expect((await read(client, 'hidden://x')).text).toBe('hidden://x of fs');
    expect((await read(client, 'secret://x')).text).toBe('secret://x of db');
    const { error } = await client.request('resources/read', { uri: 'nobody://has' });
    expect(error?.code).toBe(era === 'legacy' ? -32_002 : -32_602);
  });

  it('GW-103: links and embedded resources in results can be read back', async () => {
    const client = await clientAt(harness, '/mcp', era);
    const links = ['file:///a.txt', 'file:///tmp/new', 'page://3', 'note://mine', 'hidden://y'];
    const content = [
      ...links.map((uri) => ({ type: 'resource_link', uri, name: uri })),
      { type: 'resource', resource: { uri: 'file:///a.txt', text: 'embedded' } },
      { type: 'text', text: '{"uri":"file:///a.txt"}' },
    ];
    const { result } = await client.call('fs__t', {
      result: { content, structuredContent: { uri: 'file:///a.txt' } },
    });
    const blocks = result?.['content'] as Json[];
    for (const [index, uri] of links.entries()) {
      const exposed = await read(client, blocks[index]?.['uri']);
      expect(exposed).toEqual({ uri: blocks[index]?.['uri'], text: `${uri} of fs` });
    }
    const embedded = blocks[links.length]?.['resource'] as Json;
    expect(embedded).toMatchObject({ uri: 'fs+file:///a.txt', text: 'embedded' });
    expect(blocks.at(-1)).toEqual({ type: 'text', text: '{"uri":"file:///a.txt"}' });
    expect(result?.['structuredContent']).toEqual({ uri: 'file:///a.txt' });
  });

  it('GW-103: so can those of the messages of prompts', async () => {
    const client = await clientAt(harness, '/mcp', era);
    const { result } = await client.request('prompts/get', { name: 'fs__with' });
    const [first, second] = (result?.['messages'] ?? []) as { content: Json }[];
    const embedded = first?.content['resource'] as Json;
    expect((await read(client, embedded['uri'])).text).toBe('file:///a.txt of fs');
    expect((await read(client, second?.content['uri'])).text).toBe('page://7 of fs');
  });

  it('GW-104: completes a prompt and a template at the server that has it', async () => {
    const client = await clientAt(harness, '/mcp', era);
    const argument = { name: 'x', value: 'y' };
    const complete = async (ref: Json): Promise<unknown> => {
      const { result, raw } = await client.request('completion/complete', { ref, argument });
      const completion = result?.['completion'] as Json | undefined;
      return completion === undefined ? raw : completion['values'];
    };
    const arg = JSON.stringify(argument);
    expect(await complete({ type: 'ref/prompt', name: 'db__with' })).toEqual([
      'db',
      'ref/prompt',
      'with',
      arg,
    ]);
    expect(await complete({ type: 'ref/prompt', name: 'fs__with' })).toEqual([
      'fs',
      'ref/prompt',
      'with',
      arg,
    ]);
    expect(await complete({ type: 'ref/resource', uri: 'row://{table}/{id}' })).toEqual([
      'db',
      'ref/resource',
      'row://{table}/{id}',
      arg,
    ]);
    expect(await complete({ type: 'ref/resource', uri: 'fs+file:///a.txt' })).toEqual([
      'fs',
      'ref/resource',
      'file:///a.txt',
      arg,
    ]);
    for (const ref of [{ type: 'ref/prompt', name: 'with' }, { type: 'ref/prompt' }, {}, 'x']) {
      const params = { ref, argument };
      const { error } = await client.request('completion/complete', params);
      expect(error, JSON.stringify(ref)).toMatchObject({ code: -32_602 });
    }
  });
});

describe.each(ERAS)('what changes at %s servers', (serverEra) => {
  const same = ['file:///a.txt'].map(named);
  const fs = new CatalogServer(
    { name: 'fs', tools: tools('t'), resources: same, readable: ['page://'] },
    { era: serverEra },
  );
  const db = new CatalogServer(
    { name: 'db', tools: tools('t'), resources: same },
    { era: serverEra },
  );
  const harness = useGateway(() => ({ servers: { fs: fs.config, db: db.config } }));
  const touch = (client: EraClient, key: string, uri = 'file:///a.txt') =>
    client.call(`${key}__t`, { notify: { uri } });

  it('GW-103: is told to a session under the URI that it knows, until it unsubscribes', async () => {
    const session = await sessionAt(harness, '/mcp');
    const stream = session.openStream();
    await stream.head;
    const uris = (): unknown[] =>
      stream.messages.all.filter(hasMethod(UPDATED)).map(({ params }) => params?.['uri']);
    const params = { uri: 'fs+file:///a.txt' };
    expect((await session.request('resources/subscribe', params)).result).toEqual({});
    await touch(session, 'db');
    await touch(session, 'fs');
    await stream.messages.next(hasMethod(UPDATED));
    expect(uris()).toEqual(['fs+file:///a.txt']);
    expect((await session.request('resources/subscribe', { uri: 'db+file:///a.txt' })).error).toBe(
      undefined,
    );
    expect((await session.request('resources/unsubscribe', params)).result).toEqual({});
    await touch(session, 'fs');
    await touch(session, 'db');
    await until(() => uris().length === 2);
    expect(uris()).toEqual(['fs+file:///a.txt', 'db+file:///a.txt']);
  });

  it('GW-103: is told to a listen stream under the URI that it knows', async () => {
    const modern = modernAt(harness, '/mcp');
    const stream = await modern.listen({ resourceSubscriptions: ['db+file:///a.txt'] });
    expect(stream.messages.all[0]?.params?.['notifications']).toEqual({
      resourceSubscriptions: ['db+file:///a.txt'],
    });
    await touch(modern, 'fs');
    await touch(modern, 'db');
    const { params } = await stream.messages.next(hasMethod(UPDATED));
    expect(params?.['uri']).toBe('db+file:///a.txt');
    expect(stream.messages.all.filter(hasMethod(UPDATED))).toHaveLength(1);
  });

  it('leaves no subscription at a server when its clients are gone', async () => {
    const server = new Map([
      ['legacy', 'resources/unsubscribe'],
      ['modern', 'notifications/cancelled'],
    ]).get(serverEra);
    const session = await sessionAt(harness, '/mcp');
    const modern = modernAt(harness, '/mcp');
    const uri = 'fs+file:///left.txt';
    expect((await session.request('resources/subscribe', { uri })).result).toEqual({});
    await modern.listen({ resourceSubscriptions: [uri] });
    const before = fs.journal.messages(server).length;
    await modern.close();
    await session.close();
    await until(() => fs.journal.messages(server).length > before);
    if (serverEra === 'legacy') {
      const left = fs.journal.messages(server).at(-1);
      expect(left?.params).toEqual({ uri: 'file:///left.txt' });
    }
  });
});

// Many servers agree to watch whatever they are asked for.
describe('a resource that no list names', () => {
  const easy = scriptedServer();
  const page = new CatalogServer({
    name: 'page',
    tools: tools('t'),
    resources: ['file:///a.txt'].map(named),
    readable: ['page://'],
  });
  const harness = useGateway(() => ({ servers: { easy: easy.config, page: page.config } }));
  const uri = 'page://one';
  const touch = (client: EraClient) => client.call('page__t', { notify: { uri } });

  it('is watched at all servers that agree, so that who has it tells (legacy)', async () => {
    const session = await sessionAt(harness, '/mcp');
    const stream = session.openStream();
    await stream.head;
    expect((await session.request('resources/read', { uri })).result).toBeDefined();
    expect((await session.request('resources/subscribe', { uri })).result).toEqual({});
    await page.journal.waitFor(hasMethod('resources/subscribe'));
    await touch(session);
    const { params } = await stream.messages.next(hasMethod(UPDATED));
    expect(params?.['uri']).toBe(uri);
    expect((await session.request('resources/unsubscribe', { uri })).result).toEqual({});
    for (const { journal } of [easy, page]) {
      expect(journal.messages('resources/unsubscribe').at(-1)?.params).toEqual({ uri });
    }
    await touch(session);
    await session.request('ping');
    expect(stream.messages.all.filter(hasMethod(UPDATED))).toHaveLength(1);
  });

  it('is told to a listen stream by whoever has it (modern)', async () => {
    const modern = modernAt(harness, '/mcp');
    const stream = await modern.listen({ resourceSubscriptions: [uri] });
    await touch(modern);
    const { params } = await stream.messages.next(hasMethod(UPDATED));
    expect(params?.['uri']).toBe(uri);
  });
});

describe('servers with apps whose pages have one URI', () => {
  const page = 'ui://panel';
  const app = (name: string): CatalogServer =>
    new CatalogServer({
      name,
      tools: [
        {
          name: 'show',
          inputSchema: { type: 'object' },
          _meta: { ui: { resourceUri: page }, 'openai/outputTemplate': page },
        },
      ],
      resources: [{ uri: page, name: 'panel', mimeType: 'text/html;profile=mcp-app' }],
    });
  const prod = app('prod');
  const test = app('test');
  const harness = useGateway(() => ({ servers: { prod: prod.config, test: test.config } }));

  it.each(ERAS)('show each tool with the page of its own server (%s)', async (era) => {
    const client = await clientAt(harness, '/mcp', era);
    const [tools = []] = await pagesOf(client, 'tools/list', 'tools');
    const [listed = []] = await pagesOf(client, 'resources/list', 'resources');
    for (const server of ['prod', 'test']) {
      const meta = tools.find(({ name }) => name === `${server}__show`)?.['_meta'] as Json;
      const uri = (meta['ui'] as Json)['resourceUri'];
      expect(uri).toMatch(/^ui:\/\//);
      expect(meta['openai/outputTemplate']).toBe(uri);
      expect(listed.map((resource) => resource['uri'])).toContain(uri);
      const { result } = await client.request('resources/read', { uri });
      expect(result?.['contents']).toEqual([
        { uri, mimeType: 'text/plain', text: `${page} of ${server}` },
      ]);
      const meta2 = { ui: { resourceUri: page } };
      const answer = { content: [], _meta: meta2 };
      const called = await client.call(`${server}__show`, { result: answer });
      expect(called.result?.['_meta']).toMatchObject({ ui: { resourceUri: uri } });
    }
  });

  it.each(ERAS)('answer a read with the URI that was asked for (%s)', async (era) => {
    const client = await clientAt(harness, '/mcp', era);
    const { result } = await client.request('resources/read', { uri: page });
    expect(result?.['contents']).toMatchObject([{ uri: page }]);
  });
});
