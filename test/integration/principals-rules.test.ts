/**
 * What the rules keep from somebody, tried in every spelling and on every way there is: no server
 * hears of it, and a hidden thing can't be told from one that does not exist
 * (docs/reliability.md#a08, #c01, #g02, #g05).
 */
import { describe, expect, it } from 'vitest';
import { CatalogServer, tools } from '../support/catalog-server.ts';
import { ERAS, type Era, type EraClient, pagesOf } from '../support/era-client.ts';
import { send } from '../support/http-client.ts';
import { initializeRequest, LegacySession } from '../support/legacy-session.ts';
import { fetchMetricsText } from '../support/metrics.ts';
import { ModernClient } from '../support/modern-client.ts';
import { People } from '../support/principals.ts';
import { fixtureServer, scriptedServer } from '../support/scripted-server.ts';
import { useGateway } from '../support/use-gateway.ts';
import { hasMethod, type Json, textOf, type WireMessage } from '../support/wire-message.ts';
import { WsClient } from '../support/ws-client.ts';

const OPEN = { who: { groups: ['ann', 'bob'] }, servers: ['*'] };
const NARROW = {
  who: { groups: ['eve'] },
  servers: ['files', 'mod', 'plain'],
  tools: ['read_*'],
  prompts: ['hello'],
  resources: ['file:///data/*'],
};
const TOLD = {
  who: { groups: ['eve'] },
  servers: ['teller'],
  tools: ['touch'],
  resources: ['test://open/*'],
};
const people = new People([OPEN, NARROW, TOLD]);

const offer = (name: string) => ({
  name,
  tools: tools('read_a', 'zap_all'),
  prompts: [{ name: 'hello' }, { name: 'zap_prompt' }],
  resources: [
    { uri: 'file:///data/a', name: 'a' },
    { uri: 'file:///zap/a', name: 'z' },
  ],
  resourceTemplates: [
    { uriTemplate: 'file:///data/{x}', name: 'd' },
    { uriTemplate: 'file:///zap/{x}', name: 'z' },
  ],
  readable: ['file:///'],
});
const files = new CatalogServer(offer('files'));
const mod = new CatalogServer(offer('mod'), { era: 'modern' });
const vault = new CatalogServer({
  ...offer('vault'),
  resources: [{ uri: 'gold://bar', name: 'gold' }],
  instructions: 'Of the vault.',
});
const teller = scriptedServer({ config: { sharing: 'session' } });
const plain = fixtureServer('jsonrpc-line.ts', {
  config: { protocol: 'jsonrpc', framing: 'newline', sharing: 'session' },
});
const harness = useGateway(() => ({
  servers: {
    files: files.config,
    mod: mod.config,
    vault: vault.config,
    plain: plain.config,
    teller: teller.config,
  },
  config: {
    ...people.config,
    endpoints: {
      '/': { servers: ['files', 'mod', 'vault'] },
      '/search': { servers: ['files', 'mod', 'vault'], toolList: 'search' },
      '/vault': { servers: ['vault'] },
    },
  },
}));
const journals = [files.journal, mod.journal, vault.journal];

/** A request whose name or URI may be anything: modern clients repeat it in a header. */
function ask(by: EraClient, method: string, params: Json): Promise<WireMessage> {
  if (by instanceof LegacySession) return by.request(method, params);
  const name = params['name'] ?? params['uri'];
  if (typeof name !== 'string') return by.request(method, params);
  const encoded = `=?base64?${Buffer.from(name).toString('base64')}?=`;
  return by.request(method, params, { headers: { 'mcp-name': encoded } });
}

/** What servers were asked by name or URI. */
const asked = (): string[] =>
  journals.flatMap((journal) =>
    journal.messages().flatMap(({ method, raw }) => {
      const isOwn = method === undefined || /list$|initialize|discover|listen/.test(method);
      return isOwn ? [] : [raw];
    }),
  );

async function client(name: string, path: string, era: Era): Promise<EraClient & { url: string }> {
  const url = harness.gateway.url + path;
  const headers = people.headers(name);
  return era === 'legacy'
    ? harness.track(await LegacySession.open(url, { headers }))
    : harness.track(new ModernClient(url, {}, headers));
}

/** Names and URIs stand for what a test sends instead. */
function anonymous(message: { readonly error?: unknown }, sent: string): string {
  const text = JSON.stringify(message.error);
  return text.replaceAll(JSON.stringify(sent).slice(1, -1), 'X');
}

const PATHS: readonly (readonly [string, string])[] = [
  ['/servers/files/mcp', ''],
  ['/servers/mod/mcp', ''],
  ['/mcp', 'files__'],
  ['/search/mcp', 'files__'],
];
const WAYS = PATHS.flatMap(([path, prefix]) => ERAS.map((era) => [path, era, prefix] as const));

/** Ways to write a name that some reader takes for it. */
function spellings(prefix: string, name: string): string[] {
  const plainName = prefix + name;
  return [
    plainName,
    plainName.toUpperCase(),
    ` ${plainName}`,
    `${plainName} `,
    `${plainName}\0`,
    `${plainName}\u200b`,
    `${plainName}\n`,
    plainName.replace('z', '\uff5a'),
    plainName.replace('a', 'a\u0301'),
    plainName.replace('_', '%5F'),
    `read_a/../${name}`,
    `read_\0${name}`,
    `read_a\n${name}`,
    `vault__${name}`,
    `vault.${name}`,
    `vault/${name}`,
    `files__files__${name}`,
    `mod__${name}`,
    `__proto__`,
    `constructor`,
  ];
}

/** What leads out of file:///data/ for one server or another, or was never in there. */
const OUTSIDE = [
  'file:///zap/a',
  'file:///zap/none',
  'file:///zap/{x}',
  'FILE:///zap/a',
  'file:///ZAP/a',
  'file:/zap/a',
  'file://localhost/zap/a',
  'file:///data/../zap/a',
  'file:///data/./../zap/a',
  'file:///data/x/../../zap/a',
  'file:///data/..',
  'file:///data/.. ',
  'file:///data/..\\zap\\a',
  'file:///data\\..\\zap\\a',
  'file:///data/%2e%2e/zap/a',
  'file:///data/.%2E/zap/a',
  'file:///data/..%2fzap%2fa',
  'file:///data/..%5czap',
  'file:///data/%252e%252e%252fzap/a',
  'file:///data/%25252e%25252e/zap/a',
  'file:///data/.\t./zap/a',
  'file:///data/.\n./zap/a',
  'file:///data/%00/../zap/a',
  'file:///data/a%00',
  'file:///data/\uff0e\uff0e/zap/a',
  'file:///data/\u2025/zap/a',
  'file:///data/..;/zap/a',
  'file:///data/..;x/zap/a',
  'file:///data/x/..;/..;/zap/a',
  'file:///data/..%3B/zap/a',
  'file:///data/;/../zap/a',
  'file:///data/..\uff0fzap\uff0fa',
  'file:///data/..\uff3czap\uff3ca',
  'file:///data/..\u2215zap\u2215a',
  'file:///data/..\u2044zap\u2044a',
  'file:///data/\u2024\u2024/zap/a',
  'file:///data/..%EF%BC%8Fzap/a',
  'file:///data/.\u200c./zap/a',
  'file:///data/..%c0%afzap',
  'file:///data/a?/../../zap/a',
  'file:///data/..?x',
  'file:///data/..#x',
  ' file:///data/a',
  'file:///datazap/a',
  'file:///data',
  'files+file:///zap/a',
  'files+file:///data/../zap/a',
  'FILES+file:///zap/a',
  'mod+file:///zap/a',
  'files+files+file:///zap/a',
  'x.files+file:///zap/a',
  'vault+gold://bar',
  'vault+file:///data/a',
  'gold://bar',
  'gold://none',
  '',
];

describe.each(WAYS)('G05 at %s a client of the %s era', (path, era, prefix) => {
  let eve: EraClient;
  const open = async (): Promise<EraClient> => {
    eve = await client('eve', path, era);
    return eve;
  };

  it('lists what it may use, and nothing else', async () => {
    await open();
    const lists = [
      ['tools/list', 'tools'],
      ['prompts/list', 'prompts'],
      ['resources/list', 'resources'],
      ['resources/templates/list', 'resourceTemplates'],
    ] as const;
    for (const [method, member] of lists) {
      const text = JSON.stringify(await pagesOf(eve, method, member));
      expect(text, method).not.toMatch(/zap|vault|gold/);
    }
    const hello =
      eve instanceof LegacySession ? eve.initializeAnswer : await eve.request('server/discover');
    expect(hello.raw).not.toMatch(/zap|vault/i);
  });

  it('calls no other tool by any name, and learns of none', async () => {
    await open();
    const before = asked();
    const nothing = anonymous(await eve.request('tools/call', { name: 'nothing' }), 'nothing');
    for (const name of spellings(prefix, 'zap_all')) {
      const answer = await ask(eve, 'tools/call', { name, arguments: {} });
      expect(answer.error?.code, name).toBe(-32_602);
      expect(anonymous(answer, name), name).toBe(nothing);
    }
    expect(asked()).toEqual(before);
    expect((await eve.request('tools/call', { name: `${prefix}read_a` })).result).toBeDefined();
  });

  it('gets no other prompt, and completes none', async () => {
    await open();
    const before = asked();
    const nothing = anonymous(await eve.request('prompts/get', { name: 'nothing' }), 'nothing');
    const argument = { name: 'x', value: 'y' };
    const complete = async (name: string): Promise<string> => {
      const ref = { type: 'ref/prompt', name };
      return anonymous(await eve.request('completion/complete', { ref, argument }), name);
    };
    const noCompletion = await complete('nothing');
    for (const name of spellings(prefix, 'zap_prompt')) {
      expect(anonymous(await ask(eve, 'prompts/get', { name }), name), name).toBe(nothing);
      expect(await complete(name), name).toBe(noCompletion);
    }
    expect(asked()).toEqual(before);
  });

  it('reads and completes no other resource', async () => {
    await open();
    const before = asked();
    const argument = { name: 'x', value: 'y' };
    const nothing = anonymous(
      await eve.request('resources/read', { uri: 'nothing:x' }),
      'nothing:x',
    );
    for (const uri of OUTSIDE) {
      const read = await ask(eve, 'resources/read', { uri });
      expect(read.result, uri).toBeUndefined();
      if (uri !== '') expect(anonymous(read, uri), uri).toBe(nothing);
      const ref = { type: 'ref/resource', uri };
      const completed = await eve.request('completion/complete', { ref, argument });
      expect(completed.error?.code, uri).toBe(-32_602);
    }
    expect(asked()).toEqual(before);
    const uri = path.startsWith('/servers') ? 'file:///data/a' : 'files+file:///data/a';
    const own = await eve.request('resources/read', { uri });
    expect(own.result, own.raw).toBeDefined();
  });

  it('watches no other resource', async () => {
    await open();
    const before = asked();
    if (eve instanceof LegacySession) {
      for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
        for (const uri of OUTSIDE) {
          expect((await eve.request(method, { uri })).error, `${method} ${uri}`).toBeDefined();
        }
      }
    }
    if (eve instanceof ModernClient) {
      const stream = await eve.listen({ resourceSubscriptions: OUTSIDE.filter(Boolean) });
      const [acknowledged] = stream.messages.all;
      const agreed = acknowledged?.params?.['notifications'] as Json;
      expect(agreed['resourceSubscriptions'] ?? []).toEqual([]);
      stream.destroy();
    }
    expect(asked()).toEqual(before);
  });

  it('C01 reaches nothing with a body that readers understand differently', async () => {
    await open();
    const before = asked();
    const tool = JSON.stringify(`${prefix}read_a`);
    const zap = JSON.stringify(`${prefix}zap_all`);
    const meta = JSON.stringify({
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    });
    const end = era === 'modern' ? `,"_meta":${meta}` : '';
    const call = '"jsonrpc":"2.0","id":9';
    const bodies = [
      `{${call},"method":"tools/call","params":{"name":${tool},"name":${zap}${end}}}`,
      `{${call},"method":"tools/call","params":{"name":${zap},"name":${tool}${end}}}`,
      `{${call},"method":"tools/call","params":{"name":${tool},"Name":${zap}${end}}}`,
      `{${call},"method":"tools/call","params":{"name":${tool},"n\\u0061me":${zap}${end}}}`,
      `{${call},"method":"tools/call","params":{"name":${tool},"name\\u0000":${zap}${end}}}`,
      `{${call},"method":"tools/call","params":{"name":${tool}${end}},"params":{"name":${zap}${end}}}`,
      `{${call},"method":"tools/call","params":{"name":${tool}${end}},"Params":{"name":${zap}${end}}}`,
      `{${call},"method":"ping","method":"tools/call","params":{"name":${zap}${end}}}`,
      ...['Tools/Call', 'tools/call ', 'tools/call\\u0000', 'tools//call', 'TOOLS/CALL'].map(
        (method) => `{${call},"method":"${method}","params":{"name":${zap}${end}}}`,
      ),
      `{${call},"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"${prefix}zap_prompt"},"ref":{"type":"ref/prompt","name":"${prefix}hello"},"argument":{"name":"x","value":"y"}${end}}}`,
      `{${call},"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"${prefix}zap_prompt","name":"${prefix}hello"},"argument":{"name":"x","value":"y"}${end}}}`,
      `{${call},"method":"completion/complete","params":{"Ref":{"type":"ref/prompt","name":"${prefix}zap_prompt"},"ref":{"type":"ref/prompt","name":"${prefix}hello"},"argument":{"name":"x","value":"y"}${end}}}`,
      `{${call},"method":"resources/read","params":{"uri":"file:///data/a","URI":"file:///zap/a"${end}}}`,
    ];
    for (const body of bodies) {
      const { method } = JSON.parse(body) as { method: string };
      // No header can repeat it.
      if (era === 'modern' && method.includes('\0')) continue;
      const headers =
        era === 'modern'
          ? {
              'mcp-protocol-version': '2026-07-28',
              'mcp-method': method,
              'mcp-name': `${prefix}zap_all`,
            }
          : {};
      const { text } = await eve.post(body, headers).response();
      expect(text, body).toContain('"error"');
      expect(text, body).not.toContain('"result"');
    }
    expect(asked()).toEqual(before);
  });

  it('has no method that nobody knows, which only who may use everything has', async () => {
    await open();
    const before = asked();
    for (const method of ['vendor/echo', 'zap/all', 'tools/call/zap', 'resources/zap']) {
      expect((await eve.request(method, { x: 1 })).error?.code, method).toBe(-32_601);
    }
    if (eve instanceof LegacySession) {
      await eve.notify('notifications/vendor/zap', { x: 1 });
      await eve.request('tools/call', { name: `${prefix}read_a` });
      expect(asked().filter((raw) => raw.includes('vendor'))).toEqual([]);
    } else expect(asked()).toEqual(before);
  });
});

describe('what search finds', () => {
  it.each(ERAS)(
    'G05 is what the client may use, and call_tool calls nothing else: %s',
    async (era) => {
      const eve = await client('eve', '/search/mcp', era);
      const before = asked();
      for (const args of [
        { query: 'zap' },
        { query: 'all', server: 'vault' },
        { query: '', limit: 50 },
        { query: 'zap_all', server: 'files' },
      ]) {
        const found = await eve.request('tools/call', { name: 'find_tools', arguments: args });
        expect(found.raw.replace('"query"', ''), JSON.stringify(args)).not.toMatch(
          /zap|vault__|gold/,
        );
      }
      const described = await eve.request('tools/call', {
        name: 'describe_tool',
        arguments: { name: 'files__zap_all' },
      });
      expect(described.result).toMatchObject({ isError: true });
      expect(described.raw).not.toContain('inputSchema');
      for (const name of spellings('files__', 'zap_all')) {
        for (const args of [
          { name, arguments: {} },
          { name: 'call_tool', arguments: { name, arguments: {} } },
        ]) {
          const call = await eve.request('tools/call', { name: 'call_tool', arguments: args });
          const isRefused = call.error !== undefined || call.result?.['isError'] === true;
          expect(isRefused, JSON.stringify(args)).toBe(true);
        }
      }
      expect(asked()).toEqual(before);
      const right = { name: 'files__read_a', arguments: {} };
      const called = await eve.request('tools/call', { name: 'call_tool', arguments: right });
      expect(called.result?.['isError'], called.raw).not.toBe(true);
    },
  );
});

describe('a path', () => {
  it('A08 G02 leads to no server that is not open, however it is written', async () => {
    const targets = [
      '/servers/vault/mcp',
      '/servers/vault/mcp/',
      '/vault/mcp',
      '/servers/files/../vault/mcp',
      '/servers/files/%2e%2e/vault/mcp',
      '/servers/%76ault/mcp',
      '/servers/VAULT/mcp',
      '/servers//vault/mcp',
      '//servers/vault/mcp',
      '/servers/vault/mcp?x',
      '/servers/vault/mcp%3f',
      '/servers/vault\\mcp',
      '/servers/files/mcp/../../vault/mcp',
      '/servers/vault/sse',
      '/servers/vault/messages?sessionId=x',
      '/servers/vault/tickets',
      '/servers/nothing/mcp',
    ];
    const nowhere = await send(harness.gateway.url, {
      method: 'POST',
      target: '/servers/nothing/mcp',
      headers: { 'content-type': 'application/json', ...people.headers('eve') },
      body: JSON.stringify(initializeRequest()),
    });
    expect(nowhere.text).toContain('/servers/files/mcp');
    expect(nowhere.text).not.toContain('vault');
    for (const target of targets) {
      for (const method of ['POST', 'GET', 'DELETE', 'PUT', 'HEAD']) {
        const headers = {
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
          ...people.headers('eve'),
        };
        const body = method === 'POST' ? { body: JSON.stringify(initializeRequest()) } : {};
        const options = { method, target, headers, ...body };
        const { status, text } = await send(harness.gateway.url, options);
        expect(status, `${method} ${target}`).toBe(404);
        if (method === 'POST') expect(text, target).toBe(nowhere.text);
      }
    }
    expect(vault.journal.messages().filter(({ method }) => method === 'tools/call')).toEqual([]);
  });

  it('of a server that is not MCP is open to who may use everything of it', async () => {
    const path = '/servers/plain/ws';
    const refused = people.ws(harness, 'eve', path).catch((error: unknown) => error);
    expect(await refused).toMatchObject({ status: 404 });
    const post = await send(harness.gateway.endpoint('plain'), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...people.headers('eve') },
      body: '{"jsonrpc":"2.0","id":1,"method":"echo","params":{"x":1}}',
    });
    expect(post.status).toBe(404);
    expect(plain.journal.starts).toEqual([]);
    const url = harness.gateway.endpoint('plain', 'ws');
    const ann = harness.track(await WsClient.connect(url, { headers: people.headers('ann') }));
    expect((await ann.request('echo', { x: 1 })).result).toEqual({ x: 1 });
  });
});

describe('what changes', () => {
  it('B18 is told of what the client may see, also by a server that tells of everything', async () => {
    const eve = await people.legacy(harness, 'eve', '/servers/teller/mcp');
    const stream = eve.openStream();
    await stream.head;
    for (const uri of ['test://zap', 'test://open/../zap', 'test://open/1']) {
      await eve.call('touch', { uri });
    }
    const { params } = await stream.messages.next(hasMethod('notifications/resources/updated'));
    expect(params).toEqual({ uri: 'test://open/1' });
    expect(JSON.stringify(stream.messages.all)).not.toContain('zap');
  });
});

describe('challenge', () => {
  const told = new CatalogServer(offer('told'));
  const other = new People([OPEN, { ...NARROW, servers: ['told'] }], { onDenied: 'challenge' });
  const open = useGateway(() => ({
    servers: { told: told.config, vault: new CatalogServer(offer('vault')).config },
    config: other.config,
  }));

  it.each(ERAS)('G05 says what may not be used, and no server hears of it: %s', async (era) => {
    const headers = other.headers('eve');
    const url = open.gateway.endpoint('told');
    const eve =
      era === 'legacy'
        ? open.track(await LegacySession.open(url, { headers }))
        : open.track(new ModernClient(url, {}, headers));
    const before = told.journal.messages().filter(({ method }) => method === 'tools/call').length;
    const call = await eve.request('tools/call', { name: 'zap_all' });
    expect(call.error).toMatchObject({ code: -32_602 });
    expect(call.error?.message).toContain('you may not use');
    const read = await eve.request('resources/read', { uri: 'file:///data/../zap/a' });
    expect(read.error?.message).toContain('you may not use');
    const calls = told.journal.messages().filter(({ method }) => method === 'tools/call');
    expect(calls).toHaveLength(before);
    const status = (
      await send(open.gateway.endpoint('vault'), {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(initializeRequest()),
      })
    ).status;
    expect(status).toBe(403);
  });
});

describe('H03 metrics', () => {
  it('have no names of things', async () => {
    const eve = await client('eve', '/mcp', 'modern');
    for (const name of ['files__zap_all', 'made-up-name']) {
      await eve.request('tools/call', { name });
      await eve.request(`made/up/${name}`);
    }
    const ann = await client('ann', '/servers/files/mcp', 'modern');
    expect(textOf(await ann.request('tools/call', { name: 'zap_all' }))).toContain('zap_all');
    const text = await fetchMetricsText(harness.gateway.adminUrl);
    expect(text).not.toMatch(/zap|made-up|made\/up|file:\/\/|"(?:eve|ann)"/);
  });
});
