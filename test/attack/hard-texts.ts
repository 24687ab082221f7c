// Single messages that are hard to read: long, deep, escaped, or many values in one. Most of them come
// from a principal of few rights.
import type { Attack } from './attack.ts';
import { server } from './servers.ts';
import { type KeyName, SHARED, type Target } from './target.ts';
import { exchange, message, modernPost, openSession, post, Statuses } from './wire.ts';

/** What a body may have, and some room for the rest of the message. */
const MOST = 4_190_000;

/** As often as it fits into so many bytes. */
function filled(text: string, bytes = MOST, separator = ''): string {
  const one = Buffer.byteLength(text) + separator.length;
  return Array.from({ length: Math.floor(bytes / one) }, () => text).join(separator);
}

interface Hard {
  readonly name: string;
  readonly about: string;
  readonly body: () => string;
  readonly key?: KeyName;
  readonly version?: string;
}

/** One message, by four connections again and again. */
function hard({ name, about, body, key = 'low', version = '2025-11-25' }: Hard): Attack {
  return {
    name,
    about,
    run: async (target) => {
      const headers = await openSession(target, SHARED, key, { version });
      return await repeat(target, [post(target, `${SHARED}/mcp`, body(), { key, headers })]);
    },
  };
}

async function repeat(target: Target, requests: readonly Buffer[], lanes = 4): Promise<string> {
  const statuses = new Statuses();
  let next = 0;
  await target.begin();
  await target.repeat(lanes, async () => {
    const request = requests[next++ % requests.length];
    if (request !== undefined) statuses.add(await exchange(target, request));
  });
  return String(statuses);
}

function read(uri: string): string {
  return message('resources/read', { uri }, 1);
}

function call(name: string, args: object): string {
  return message('tools/call', { name, arguments: args }, 1);
}

const URIS: readonly Attack[] = [
  hard({
    name: 'uri-marks',
    about: 'resources/read with combining characters that have to be sorted, 4 MB of them',
    body: () => read(`file:///data/a${filled('\u0344\u0323')}`),
  }),
  hard({
    name: 'uri-marks-80kb',
    about: 'the same with 80 kB',
    body: () => read(`file:///data/a${filled('\u0344\u0323', 80_000)}`),
  }),
  hard({
    name: 'uri-percents',
    about: 'resources/read with percent signs that are themselves escaped, 4 MB of them',
    body: () => read(`file:///data/${filled('%2525')}`),
  }),
  hard({
    name: 'uri-dots',
    about: 'resources/read with 1,000,000 dot segments',
    body: () => read(`file:///data/${filled('a/../')}`),
  }),
  hard({
    name: 'uri-slashes',
    about: 'resources/read with slashes and backslashes only',
    body: () => read(`file:///data/${filled('/\\')}`),
  }),
  hard({
    name: 'uri-parameters',
    about: 'resources/read with path parameters',
    body: () => read(`file:///data/${filled('..;a/')}`),
  }),
  {
    name: 'uri-subscribed',
    about: 'resources/subscribe, unsubscribe and completion/complete with 4 MB of marks',
    run: async (target) => {
      const uri = `file:///data/a${filled('\u0344\u0323')}`;
      const headers = await openSession(target, SHARED, 'low');
      const argument = { name: 'name', value: 'a' };
      const bodies = [
        message('resources/subscribe', { uri }, 1),
        message('resources/unsubscribe', { uri }, 1),
        message('completion/complete', { ref: { type: 'ref/resource', uri }, argument }, 1),
      ];
      return await repeat(
        target,
        bodies.map((body) => post(target, `${SHARED}/mcp`, body, { key: 'low', headers })),
      );
    },
  },
  {
    name: 'listen-many-uris',
    about: '95 subscriptions/listen with 1,000 URIs each, which stay open',
    run: (target) => listenMany(target, (stream) => uris(stream, 1000)),
  },
  {
    name: 'listen-many-uris-again',
    about: 'subscriptions/listen with 1,000 new URIs, opened and closed by 10 sides',
    run: async (target) => {
      let streams = 0;
      await target.begin();
      await target.repeat(10, async () => {
        streams += 1;
        const socket = await target.connect();
        socket.resume();
        socket.write(listen(target, uris(streams, 1000)));
        await target.wait(200);
        socket.destroy();
      });
      return `${streams} streams`;
    },
  },
  {
    name: 'subscribe-many-uris',
    about: 'resources/subscribe with a new URI of 1 kB each, by 20 sides',
    run: async (target) => {
      const headers = await openSession(target, SHARED, 'low');
      const statuses = new Statuses();
      let count = 0;
      await target.begin();
      await target.repeat(20, async () => {
        const uri = `file:///data/${count++}${'x'.repeat(1000)}`;
        const body = message('resources/subscribe', { uri }, count);
        const request = post(target, `${SHARED}/mcp`, body, { key: 'low', headers });
        statuses.add(await exchange(target, request));
      });
      return String(statuses);
    },
  },
];

function uris(stream: number, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `file:///data/${stream}/${n}`);
}

function listen(target: Target, resourceSubscriptions: readonly string[]): Buffer {
  const notifications = { toolsListChanged: true, resourceSubscriptions };
  return modernPost(target, SHARED, 'subscriptions/listen', { notifications }, { key: 'low' });
}

async function listenMany(
  target: Target,
  urisOf: (stream: number) => readonly string[],
): Promise<string> {
  const requests = Array.from({ length: 95 }, (_, stream) => listen(target, urisOf(stream)));
  await target.begin();
  const opened = await target.repeat(95, async (lane) => {
    const socket = await target.connect();
    socket.resume();
    socket.write(requests[lane] ?? '');
    while (!target.isOver && !socket.destroyed) await target.wait(100);
  });
  return `${opened} streams`;
}

const MESSAGES: readonly Attack[] = [
  hard({
    name: 'escaped-keys',
    about: '4 MB of params whose keys are escaped',
    body: () =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",${filled('"\\u006b0":0', MOST, ',')}}}`,
  }),
  hard({
    name: 'escaped-arguments',
    about: '4 MB of arguments whose keys are escaped',
    body: () =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{${filled('"\\u006b0":0', MOST, ',')}}}}`,
  }),
  hard({
    name: 'escaped-text',
    about: 'a tool name of 4 MB that is all escapes',
    body: () =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${filled('\\u0061')}"}}`,
  }),
  hard({
    name: 'many-members',
    about: '500,000 members in params',
    body: () =>
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":{${Array.from({ length: 300_000 }, (_, n) => `"k${n}":0`).join(',')}}}`,
  }),
  hard({
    name: 'many-top-members',
    about: '300,000 members beside method and params',
    body: () =>
      `{"jsonrpc":"2.0","id":1,"method":"ping",${Array.from({ length: 300_000 }, (_, n) => `"k${n}":0`).join(',')}}`,
  }),
  hard({
    name: 'deep-arrays',
    about: '2,000,000 arrays inside each other',
    body: () =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":${'['.repeat(2_000_000)}${']'.repeat(2_000_000)}}}`,
  }),
  hard({
    name: 'deep-objects',
    about: '600,000 objects inside each other',
    body: () =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":${'{"a":'.repeat(600_000)}0${'}'.repeat(600_000)}}}`,
  }),
  hard({
    name: 'empty-objects',
    about: 'arguments with 1,300,000 empty objects',
    body: () =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":[${filled('{}', MOST, ',')}]}}}`,
  }),
  hard({
    name: 'long-number',
    about: 'a number of 4 MB',
    body: () =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"n":${filled('9')}}}}`,
  }),
  hard({
    name: 'long-id',
    about: 'an id of 4 MB',
    body: () => `{"jsonrpc":"2.0","id":"${filled('x')}","method":"ping"}`,
  }),
  hard({
    name: 'long-token',
    about: 'a progress token of 4 MB',
    body: () => message('tools/call', { name: 'echo', _meta: { progressToken: filled('x') } }, 1),
  }),
  hard({
    name: 'long-method',
    about: 'a method of 4 MB',
    body: () => message(filled('x'), {}, 1),
  }),
  hard({
    name: 'long-name',
    about: 'a tool name of 4 MB',
    body: () => call(`read_${filled('x')}`, {}),
  }),
  hard({
    name: 'long-cursor',
    about: 'a cursor of 4 MB',
    body: () => message('tools/list', { cursor: filled('x') }, 1),
  }),
  hard({
    name: 'white-space',
    about: '4 MB of white space',
    body: () => `${filled(' \n')}{"jsonrpc":"2.0","id":1,"method":"ping"}`,
  }),
  hard({
    name: 'not-json',
    about: '4 MB that end in the middle of a value',
    body: () => `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[${filled('[]', MOST, ',')}`,
  }),
  hard({
    name: 'bad-utf-8',
    about: '4 MB of text that is no UTF-8 at its end',
    body: () =>
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"${filled('\u00e9')}\ud800"}}`,
  }),
  hard({
    name: 'batches',
    about: 'batches of 100,000 pings',
    version: '2025-03-26',
    body: () => `[${filled('{"jsonrpc":"2.0","id":1,"method":"ping"}', MOST, ',')}]`,
  }),
  hard({
    name: 'batches-invalid',
    about: 'batches of 2,000,000 elements that are no messages',
    version: '2025-03-26',
    body: () => `[${filled('1', MOST, ',')}]`,
  }),
  hard({
    name: 'batches-of-calls',
    about: 'batches of 45,000 calls',
    version: '2025-03-26',
    body: () =>
      `[${filled('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}', MOST, ',')}]`,
  }),
  hard({
    name: 'batches-of-notifications',
    about: 'batches of 50,000 notifications',
    version: '2025-03-26',
    body: () =>
      `[${filled('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}', MOST, ',')}]`,
  }),
  hard({
    name: 'batches-of-nothing',
    about: 'batches without an element',
    version: '2025-03-26',
    body: () => '[]',
  }),
  hard({
    name: 'batches-of-two',
    about: 'batches of two calls with 2 MB of arguments that are all escapes',
    version: '2025-03-26',
    body: () => {
      const text = filled('\\u0001\\"', MOST / 2 - 1000);
      const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":"${text}"}}}`;
      return `[${call},${call.replace('"id":1', '"id":2')}]`;
    },
  }),
  {
    name: 'large-initialize',
    about: 'initialize with 4 MB of capabilities, again and again',
    run: (target) => {
      const body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"a","version":"1"},"capabilities":{"experimental":{"a":[${filled('{}', MOST, ',')}]}}}}`;
      return repeat(target, [post(target, `${SHARED}/mcp`, body, { key: 'low' })]);
    },
  },
  {
    name: 'large-envelope',
    about: 'a modern call with 4 MB of client capabilities',
    run: (target) => {
      const meta = {
        'io.modelcontextprotocol/clientCapabilities': {
          experimental: Object.fromEntries(
            Array.from({ length: 250_000 }, (_, n) => [`k${n}`, {}]),
          ),
        },
      };
      return repeat(target, [
        modernPost(
          target,
          SHARED,
          'tools/call',
          { name: 'echo', arguments: {} },
          { meta, key: 'low' },
        ),
      ]);
    },
  },
];

const SEARCH = '/search';
const SEARCH_CONFIG = {
  servers: { many: server('--misbehave', 'many-tools') },
  config: { endpoints: { [SEARCH]: { servers: ['many'], toolList: 'search' } } },
};

const TOOLS: readonly Attack[] = [
  {
    name: 'find-tools',
    about: 'find_tools with 12 words over 10,000 tools, by 4 sides',
    ...SEARCH_CONFIG,
    run: async (target) => {
      const words =
        'record collect system match query return newest owner change error empty limit';
      const headers = await openSession(target, SEARCH, 'attacker');
      const body = call('find_tools', { query: words, limit: 50 });
      const request = post(target, `${SEARCH}/mcp`, body, { key: 'attacker', headers });
      // The first one reads the list and builds the index, which is another matter.
      await exchange(target, request);
      return await repeat(target, [request]);
    },
  },
  {
    name: 'find-tools-misspelled',
    about: 'the same with words of one letter and long misspelled ones',
    ...SEARCH_CONFIG,
    run: async (target) => {
      const queries = ['r c s m q r n o c e a f', 'recxrdscollxctionssystxmmatchxsquxryretxrnsat'];
      const headers = await openSession(target, SEARCH, 'attacker');
      const requests = queries.map((query) => {
        const body = call('find_tools', { query, limit: 50 });
        return post(target, `${SEARCH}/mcp`, body, { key: 'attacker', headers });
      });
      await exchange(target, requests[0] ?? Buffer.alloc(0));
      return await repeat(target, requests);
    },
  },
  {
    name: 'find-tools-first',
    about: 'find_tools for the first time over 10,000 tools, then their lists',
    ...SEARCH_CONFIG,
    run: async (target) => {
      const headers = await openSession(target, SEARCH, 'attacker');
      const bodies = [
        call('find_tools', { query: 'record' }),
        call('describe_tool', { name: 'unknown_tool' }),
      ];
      return await repeat(
        target,
        bodies.map((body) => post(target, `${SEARCH}/mcp`, body, { key: 'attacker', headers })),
      );
    },
  },
  {
    name: 'lists-of-many-tools',
    about: 'tools/list of 10,000 tools on a server’s own path and on a merged one, by 4 sides',
    servers: { many: server('--misbehave', 'many-tools') },
    run: async (target) => {
      const requests = await Promise.all(
        ['/servers/many', ''].map(async (path) => {
          const headers = await openSession(target, path, 'attacker');
          const body = message('tools/list', {}, 1);
          return post(target, `${path}/mcp`, body, { key: 'attacker', headers });
        }),
      );
      return await repeat(target, requests);
    },
  },
  {
    name: 'validated-arguments',
    about: 'calls with 4 MB of arguments that are checked against a schema',
    servers: { shared: { ...server(), validateArguments: 'enforce' } },
    run: async (target) => {
      const headers = await openSession(target, SHARED, 'attacker');
      const body = call('echo', { a: Array.from({ length: 1_000_000 }, () => 1) });
      return await repeat(target, [
        post(target, `${SHARED}/mcp`, body, { key: 'attacker', headers }),
      ]);
    },
  },
];

export const HARD_TEXTS: readonly Attack[] = [...URIS, ...MESSAGES, ...TOOLS];
