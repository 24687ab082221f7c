/**
 * `auth.allow` inside an endpoint: what is listed is exactly what can be used, on every way to it, and what
 * is denied looks as if it did not exist, or is refused openly where that is configured.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { TestKeys } from '../../support/api-keys.ts';
import { CatalogServer, tools } from '../../support/catalog-server.ts';
import { ERAS, type Era, type EraClient, pagesOf } from '../../support/era-client.ts';
import { LegacySession } from '../../support/legacy-session.ts';
import { ModernClient } from '../../support/modern-client.ts';
import { SseClient } from '../../support/sse-client.ts';
import { TokenIssuer } from '../../support/token-issuer.ts';
import { type GatewayUnderTest, useGateway } from '../../support/use-gateway.ts';
import { type Json, textOf, type WireMessage } from '../../support/wire-message.ts';
import { WsClient } from '../../support/ws-client.ts';

function server(key: string, era: Era): CatalogServer {
  const spec = {
    name: key,
    instructions: `Words of ${key}.`,
    tools: tools('read_file', 'write_file'),
    prompts: [{ name: 'open' }, { name: 'closed' }],
    resources: [
      { uri: `file:///pub/${key}`, name: 'p' },
      { uri: `file:///priv/${key}`, name: 'q' },
    ],
    resourceTemplates: [
      { uriTemplate: `file:///pub/${key}/{x}`, name: 'p' },
      { uriTemplate: `file:///priv/${key}/{x}`, name: 'q' },
    ],
    readable: ['file:///'],
  };
  return new CatalogServer(spec, { era });
}

const servers = { a: server('a', 'legacy'), b: server('b', 'modern'), c: server('c', 'legacy') };
const many = new CatalogServer({
  name: 'many',
  tools: tools(...Array.from({ length: 1_100 }, (_, at) => `n_${at}`)),
});
const entries = { a: servers.a.config, b: servers.b.config, c: servers.c.config };

/** An endpoint of one of the servers, and what it puts in front of its names. */
const PLACES = [
  ['/servers/a/mcp', 'a', ''],
  ['/servers/b/mcp', 'b', ''],
  ['/mcp', 'a', 'a__'],
  ['/mcp', 'b', 'b__'],
] as const;
const CASES = ERAS.flatMap((era) => PLACES.map((place) => [era, ...place] as const));

async function clientOf(
  harness: GatewayUnderTest,
  path: string,
  era: Era,
  headers: Readonly<Record<string, string>>,
): Promise<EraClient> {
  const url = harness.gateway.url + path;
  return era === 'modern'
    ? harness.track(new ModernClient(url, {}, headers))
    : harness.track(await LegacySession.open(url, { headers }));
}

/** How often the servers were asked for something by name. */
const heard = (): number =>
  Object.values(servers)
    .flatMap(({ journal }) => journal.messages())
    .filter(({ method }) => /call|get|read|subscribe$|complete/.test(method ?? '')).length;

/** An error with what was asked for taken out. */
const blank = ({ error }: WireMessage, name: string): string =>
  JSON.stringify(error).replaceAll(name, 'NAME');

const issuer = await TokenIssuer.start();
afterAll(() => issuer.stop());

describe('a client that may use a part', () => {
  const keys = new TestKeys();
  keys.add('tess', { groups: ['team'] });
  keys.add('root', { groups: ['admins'] });
  const harness = useGateway(() => ({
    servers: { ...entries, many: many.config },
    config: {
      auth: {
        keys: { file: keys.file },
        allow: [
          {
            who: { groups: ['team'] },
            servers: ['a', 'b'],
            tools: ['read_*'],
            prompts: ['open'],
            resources: ['file:///pub/*'],
          },
          { who: { groups: ['admins'] }, servers: ['*'] },
        ],
      },
      endpoints: { '/find': { toolList: 'search' } },
    },
  }));
  const tess = (path: string, era: Era): Promise<EraClient> =>
    clientOf(harness, path, era, keys.headers('tess'));

  /** Says the same of what is denied and of what is not there, and asks no server. */
  async function looksAbsent(
    client: EraClient,
    method: string,
    paramsOf: (name: string) => Json,
    [denied, absent]: readonly [string, string],
  ): Promise<void> {
    const missing = await client.request(method, paramsOf(absent));
    const before = heard();
    const refused = await client.request(method, paramsOf(denied));
    expect(refused.error, method).toBeDefined();
    expect(blank(refused, denied)).toBe(blank(missing, absent));
    expect(heard()).toBe(before);
  }

  it.each(ERAS)('G05 what a %s client is shown is what it may use', async (era) => {
    for (const [path, key, prefix] of PLACES) {
      const client = await tess(path, era);
      const listed = async (method: string, member: string, name: string): Promise<unknown[]> =>
        (await pagesOf(client, method, member)).flat().map((entry) => entry[name]);
      const names = await listed('tools/list', 'tools', 'name');
      const prompts = await listed('prompts/list', 'prompts', 'name');
      const uris = await listed('resources/list', 'resources', 'uri');
      const templates = await listed(
        'resources/templates/list',
        'resourceTemplates',
        'uriTemplate',
      );
      const isMerged = path === '/mcp';
      const keysShown = isMerged ? ['a', 'b'] : [key];
      expect(names).toEqual(isMerged ? ['a__read_file', 'b__read_file'] : ['read_file']);
      expect(prompts).toEqual(isMerged ? ['a__open', 'b__open'] : ['open']);
      expect(uris).toEqual(keysShown.map((one) => `file:///pub/${one}`));
      expect(templates).toEqual(keysShown.map((one) => `file:///pub/${one}/{x}`));
      expect(textOf(await client.call(`${prefix}read_file`))).toContain('read_file');
    }
  });

  it.each(CASES)(
    'G05 a tool that is denied looks absent (%s, %s, %s)',
    async (era, path, _, prefix) => {
      const names = [`${prefix}write_file`, `${prefix}none_such_`] as const;
      await looksAbsent(await tess(path, era), 'tools/call', (name) => ({ name }), names);
    },
  );

  it.each(CASES)(
    'G05 a prompt that is denied looks absent (%s, %s, %s)',
    async (era, path, _, prefix) => {
      const client = await tess(path, era);
      const names = [`${prefix}closed`, `${prefix}none__`] as const;
      await looksAbsent(client, 'prompts/get', (name) => ({ name }), names);
      expect((await client.request('prompts/get', { name: `${prefix}open` })).result).toBeDefined();
    },
  );

  it.each(CASES)(
    'G05 a resource that is denied looks absent (%s, %s, %s)',
    async (era, path, key) => {
      const client = await tess(path, era);
      const uris = [`file:///priv/${key}`, 'file:///none/'] as const;
      for (const uri of [
        `file:///priv/${key}/x`,
        `file:///pub/../priv/${key}`,
        `file:///PUB/${key}`,
      ]) {
        await looksAbsent(client, 'resources/read', (one) => ({ uri: one }), [uri, uris[1]]);
      }
      await looksAbsent(client, 'resources/read', (uri) => ({ uri }), uris);
      if (era === 'legacy') {
        await looksAbsent(client, 'resources/subscribe', (uri) => ({ uri }), uris);
      }
      const read = await client.request('resources/read', { uri: `file:///pub/${key}/y` });
      expect(read.result?.['contents']).toMatchObject([{ text: `file:///pub/${key}/y of ${key}` }]);
    },
  );

  it.each(CASES)(
    'G05 a completion of what is denied is none (%s, %s, %s)',
    async (era, path, key, prefix) => {
      const client = await tess(path, era);
      const argument = { name: 'x', value: '' };
      const names = [`${prefix}closed`, `${prefix}none__`] as const;
      const prompt = (name: string): Json => ({ ref: { type: 'ref/prompt', name }, argument });
      await looksAbsent(client, 'completion/complete', prompt, names);
      const uris = [`file:///priv/${key}/{x}`, 'file:///none/{x}'] as const;
      const resource = (uri: string): Json => ({ ref: { type: 'ref/resource', uri }, argument });
      await looksAbsent(client, 'completion/complete', resource, uris);
      const open = await client.request('completion/complete', prompt(`${prefix}open`));
      expect(open.result).toBeDefined();
    },
  );

  it.each(PLACES)(
    'G05 a listen stream carries nothing of what is denied (%s, %s)',
    async (path, key) => {
      const client = (await tess(path, 'modern')) as ModernClient;
      const [denied, open] = [`file:///priv/${key}`, `file:///pub/${key}`];
      const { exchange } = client.begin(
        'subscriptions/listen',
        { notifications: { resourceSubscriptions: [denied, open] } },
        { id: 'l' },
      );
      const acknowledged = await exchange.messages.next();
      expect(acknowledged.params?.['notifications']).toEqual({ resourceSubscriptions: [open] });
      const name = path === '/mcp' ? `${key}__read_file` : 'read_file';
      for (const uri of [denied, open]) await client.call(name, { notify: { uri } });
      const told = await exchange.messages.next();
      expect(told.params?.['uri']).toBe(open);
    },
  );

  it.each(ERAS)('G05 a search finds nothing that is denied (%s)', async (era) => {
    const client = await tess('/find/mcp', era);
    const found = textOf(await client.call('find_tools', { query: 'read write file' }));
    expect(found).toContain('a__read_file');
    expect(found).not.toContain('write_file');
    expect(found).not.toContain('c__');
    const described = async (name: string): Promise<string> =>
      textOf(await client.call('describe_tool', { name })).replaceAll(name, 'NAME');
    expect(await described('a__write_file')).toBe(await described('a__writx_file'));
    const before = heard();
    const refused = await client.call('call_tool', { name: 'a__write_file', arguments: {} });
    expect(refused.result).toMatchObject({ isError: true });
    expect(textOf(refused)).toContain('There is no tool "a__write_file"');
    expect(heard()).toBe(before);
  });

  it('G02 a merged endpoint says nothing of a server that is not allowed', async () => {
    const modern = await tess('/mcp', 'modern');
    const session = (await tess('/mcp', 'legacy')) as LegacySession;
    for (const { raw } of [await modern.request('server/discover'), session.initializeAnswer]) {
      expect(raw).toContain('Words of a.');
      expect(raw).not.toContain('Words of c.');
    }
    for (const client of [modern, session]) {
      expect((await client.call('c__read_file')).error?.code).toBe(-32_602);
    }
    expect(servers.c.journal.messages('tools/call')).toEqual([]);
  });

  it.each(ERAS)('B15 a cursor of somebody else shows nothing more (%s)', async (era) => {
    const root = await clientOf(harness, '/mcp', era, keys.headers('root'));
    const cursor = (await root.request('tools/list')).result?.['nextCursor'];
    expect((await root.request('tools/list', { cursor })).raw).toContain('many__n_1099');
    const { error } = await (await tess('/mcp', era)).request('tools/list', { cursor });
    expect(error?.code).toBe(-32_602);
  });

  it('B16 its lists are nobody else’s, whatever a server says of its own', async () => {
    const client = await tess('/mcp', 'modern');
    for (const method of ['tools/list', 'prompts/list', 'resources/list', 'server/discover']) {
      expect((await client.request(method)).result).toMatchObject({ cacheScope: 'private' });
    }
  });
});

describe('with onDenied: challenge', () => {
  const keys = new TestKeys();
  keys.add('tess');
  const harness = useGateway(() => ({
    servers: { a: entries.a, b: entries.b },
    listen: { publicUrl: 'https://gw.example', allowedHosts: ['127.0.0.1'] },
    config: {
      auth: {
        keys: { file: keys.file },
        issuers: [{ issuer: issuer.issuer, jwksUrl: issuer.jwksUrl, audiences: ['api://sluice'] }],
        allow: [
          { servers: ['a', 'b'], tools: ['read_*'], prompts: [], resources: ['file:///pub/*'] },
          { who: { scopes: ['w', 'x'] }, servers: ['a'], tools: ['write_*'] },
        ],
        onDenied: 'challenge',
      },
    },
  }));

  const METADATA = 'https://gw.example/.well-known/oauth-protected-resource';
  const bearer = async (scope: string): Promise<Record<string, string>> => ({
    authorization: `Bearer ${await issuer.token({ aud: 'api://sluice', scope })}`,
  });

  it.each(CASES)(
    'GW-152 a token lacks scopes for a tool: 403 with all of them (%s, %s, %s)',
    async (era, path, key, prefix) => {
      const client = await clientOf(harness, path, era, await bearer('w'));
      const before = heard();
      const params = { name: `${prefix}write_file`, arguments: {} };
      const { exchange, answer, id } = client.begin('tools/call', params);
      const { error } = await answer;
      const { status, headers } = await exchange.head;
      expect(status).toBe(403);
      expect(headers['content-type']).toBe('application/json');
      if (key === 'a') {
        expect(headers['www-authenticate']).toBe(
          `Bearer error="insufficient_scope", scope="w x", resource_metadata="${METADATA}${path}"`,
        );
        expect(error).toMatchObject({ code: -32_602, data: { requiredScopes: ['w', 'x'] } });
      } else {
        // No rule would allow it, whatever the scopes.
        expect(headers['www-authenticate']).toBeUndefined();
        expect(error?.data).toBeUndefined();
      }
      expect(exchange.messages.all.map((message) => message.id)).toEqual([id]);
      expect(heard()).toBe(before);
    },
  );

  it.each(ERAS)('GW-152 the token with all of the scopes may use the tool (%s)', async (era) => {
    const client = await clientOf(harness, '/mcp', era, await bearer('w x'));
    const { exchange, answer } = client.begin('tools/call', { name: 'a__write_file' });
    expect(textOf(await answer)).toContain('write_file');
    expect((await exchange.head).status).toBe(200);
  });

  it.each(ERAS)('G05 a key is told 403 and of no way to get more (%s)', async (era) => {
    const keyed = await clientOf(harness, '/servers/a/mcp', era, keys.headers('tess'));
    const before = heard();
    for (const [method, params] of [
      ['tools/call', { name: 'write_file' }],
      ['prompts/get', { name: 'closed' }],
      ['resources/read', { uri: 'file:///priv/a' }],
      ['completion/complete', { ref: { type: 'ref/prompt', name: 'closed' } }],
      ['made/up', {}],
    ] as const) {
      const { exchange, answer } = keyed.begin(method, params);
      const { error } = await answer;
      expect(error, method).toMatchObject({
        code: -32_602,
        message: expect.stringContaining('you may not use'),
      });
      expect(error?.data).toBeUndefined();
      const { status, headers } = await exchange.head;
      expect([status, headers['www-authenticate']], method).toEqual([403, undefined]);
    }
    const { exchange, answer } = keyed.begin('tools/call', { name: 'none_such' });
    expect((await answer).error?.message).toContain('unknown tool');
    expect((await exchange.head).status).toBe(200);
    expect(heard()).toBe(before);
  });

  it('GW-152 on a WebSocket or an event stream the error says it', async () => {
    const headers = await bearer('w');
    const at = (face: string): string => harness.gateway.url + face;
    for (const client of [
      harness.track(await WsClient.connect(at('/servers/a/ws'), { headers })),
      harness.track(await SseClient.open(at('/servers/a/sse'), headers)),
    ]) {
      await client.initialize();
      expect((await client.call('write_file')).error).toMatchObject({
        code: -32_602,
        data: { requiredScopes: ['w', 'x'] },
      });
    }
  });
});

describe('with onDenied: hide', () => {
  const harness = useGateway(() => ({
    servers: { a: entries.a },
    listen: { publicUrl: 'https://gw.example', allowedHosts: ['127.0.0.1'] },
    config: {
      auth: {
        issuers: [{ issuer: issuer.issuer, jwksUrl: issuer.jwksUrl, audiences: ['api://sluice'] }],
        allow: [
          { servers: ['a'], tools: ['read_*'] },
          { who: { scopes: ['w'] }, servers: ['a'], tools: ['write_*'] },
        ],
      },
    },
  }));

  it.each(ERAS)('G05 what more scopes would open looks absent too (%s)', async (era) => {
    const token = await issuer.token({ aud: 'api://sluice', scope: 'x' });
    const headers = { authorization: `Bearer ${token}` };
    const client = await clientOf(harness, '/servers/a/mcp', era, headers);
    const said = async (name: string): Promise<unknown[]> => {
      const { exchange, answer } = client.begin('tools/call', { name });
      const head = await exchange.head;
      return [head.status, head.headers['www-authenticate'], blank(await answer, name)];
    };
    expect(await said('write_file')).toEqual(await said('write_fill'));
  });
});
