/**
 * E01: no route of either listener takes a command, arguments, variables, a folder or an address: whatever
 * is asked for, with whichever verb, nothing is started and nobody is called.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { sourceFiles } from '../../arch/sources.ts';
import { HttpExchange, POST_HEADERS, type SendOptions } from '../../support/http-client.ts';
import { serverProcesses } from '../../support/processes.ts';
import { RemoteServer } from '../../support/remote-server.ts';
import { ROOT } from '../../support/root.ts';
import { scriptedServer } from '../../support/scripted-server.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { useGateway } from '../../support/use-gateway.ts';

const one = scriptedServer();
const canary = await RemoteServer.start();
const mark = join(tempDir(), 'started');
const harness = useGateway(() => ({
  servers: { one: one.config },
  config: { endpoints: { '/team': { servers: ['one'] } }, sessions: { idle: '1s' } },
}));
afterAll(() => canary.close());

const FACES = ['mcp', 'sse', 'messages', 'ws', 'tickets'];
const PUBLIC = [
  ...['', '/servers/one', '/team'].flatMap((prefix) => FACES.map((face) => `${prefix}/${face}`)),
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-protected-resource/mcp',
];
const ADMIN = ['/metrics', '/healthz', '/readyz', '/reload'];
/** What other gateways have been asked to start or to call. */
const GUESSES = ['/', '/servers', '/servers/one', '/servers/new', '/config', '/reload', '/import'];
const VERBS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'];

const launch = (): Record<string, unknown> => ({
  command: 'touch',
  args: [mark],
  env: { NODE_OPTIONS: `--require ${mark}` },
  cwd: '/',
  url: canary.url,
  tokenUrl: canary.url,
});

/** The same wish in every place where somebody might look for it. */
function wishes(): SendOptions[] {
  const wish = launch();
  const meta = { ...wish, servers: { evil: wish } };
  const bodies = [
    wish,
    { servers: { evil: wish }, mcpServers: { evil: wish } },
    ...['initialize', 'tools/call', 'servers/add', 'server/discover', 'config/reload'].map(
      (method) => ({
        jsonrpc: '2.0',
        id: 1,
        method,
        params: { ...wish, name: 'echo', arguments: wish, _meta: meta, capabilities: meta },
      }),
    ),
  ];
  const headers = { ...POST_HEADERS, 'x-command': `touch ${mark}`, 'x-url': canary.url };
  return VERBS.flatMap((method): SendOptions[] => {
    if (method === 'GET' || method === 'HEAD') return [{ method, headers }];
    return bodies.map((body) => ({ method, headers, body: JSON.stringify(body) }));
  });
}

it('the routes of this test are all that there are (E01)', () => {
  const routes = sourceFiles().flatMap(({ path, text }) =>
    [
      ...text.matchAll(
        /\bapp\.(?:get|post|put|patch|delete|head|options|all|route)\(\s*'?([^',)]*)/g,
      ),
    ].map(([, target]) => `${path} ${target}`),
  );
  const admin = ADMIN.map((path) => `admin/admin-server.ts ${path}`);
  expect(routes.toSorted()).toEqual([...admin, 'listener/http-server.ts *'].toSorted());
  const [, faces = ''] =
    /export type PathKind = ([^;]*);/.exec(
      readFileSync(join(ROOT, 'src/listener/paths.ts'), 'utf8'),
    ) ?? [];
  expect(faces.match(/\w+/g)?.toSorted()).toEqual(FACES.toSorted());
});

it('whatever is asked for, nothing is started and nobody is called (E01)', async () => {
  const before = serverProcesses(harness.gateway.pid).map(({ pid }) => pid);
  const query = `?command=touch&args=${mark}&url=${encodeURIComponent(canary.url)}`;
  const targets = [
    ...[...PUBLIC, ...GUESSES].map((path) => `${harness.gateway.url}${path}`),
    ...[...ADMIN, ...GUESSES].map((path) => `${harness.gateway.adminUrl}${path}`),
  ];
  for (const url of targets) {
    await Promise.all(
      wishes().map(async (options) => {
        const exchange = new HttpExchange(`${url}${query}`, options);
        expect((await exchange.head).status).toBeLessThan(500);
        exchange.destroy();
      }),
    );
  }
  expect(serverProcesses(harness.gateway.pid).map(({ pid }) => pid)).toEqual(before);
  expect(existsSync(mark)).toBe(false);
  expect(canary.requests).toEqual([]);
  expect(one.journal.starts).toHaveLength(1);
});
