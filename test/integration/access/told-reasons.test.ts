/**
 * H05: what clients are told of a server that is not there. Who runs the gateway reads why, in the log and
 * on the admin listener; clients that are somebody else get the reason, and nothing of the machine.
 */
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { TestKeys } from '../../support/api-keys.ts';
import { post, send } from '../../support/http-client.ts';
import { initializeRequest, LegacySession } from '../../support/legacy-session.ts';
import { ModernClient } from '../../support/modern-client.ts';
import { RemoteServer } from '../../support/remote-server.ts';
import { type ServerConfig, scriptedServer } from '../../support/scripted-server.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { useGateway } from '../../support/use-gateway.ts';
import type { Json } from '../../support/wire-message.ts';
import { WsClient } from '../../support/ws-client.ts';

const LAST_WORDS = 'token=s3cret in /etc/last-words';
const folder = tempDir();
const refusing = await RemoteServer.start();
refusing.takeover = ({ path, response }) => {
  const status = path.startsWith('/denied') ? 401 : 302;
  response.writeHead(status, { location: 'https://elsewhere.example/' }).end('in /srv/body');
  return true;
};
const selfSigned = await startTls();

afterAll(async () => {
  selfSigned.close();
  await refusing.close();
});

const script = (text: string): ServerConfig => ({ command: 'sh', args: ['-c', text] });
const remote = (url: string): ServerConfig => ({ url, transport: 'streamable-http' });

/** Each server, and a part of what the log says of it. */
const DOWN: Readonly<Record<string, readonly [server: ServerConfig, why: string]>> = {
  missing: [{ command: '/opt/no-such-program' }, 'no program \\"/opt/no-such-program\\"'],
  folder: [{ ...script(''), cwd: join(folder, 'no-such-folder') }, 'no-such-folder'],
  exits: [script(`echo '${LAST_WORDS}' >&2; exit 3`), LAST_WORDS],
  refused: [remote('http://127.0.0.1:9/hidden-path'), 'ECONNREFUSED'],
  denied: [remote(`${refusing.origin}/denied`), 'HTTP 401'],
  redirects: [remote(`${refusing.origin}/moved`), 'HTTP 302'],
  tls: [remote(`https://127.0.0.1:${portOf(selfSigned)}/mcp`), 'CERT'],
  sse: [{ url: `${refusing.origin}/denied`, transport: 'sse' }, 'HTTP 401'],
};
const dying = scriptedServer();
const servers = {
  ...Object.fromEntries(Object.entries(DOWN).map(([name, [server]]) => [name, server])),
  dying: dying.config,
  other: scriptedServer().config,
};
/** What belongs to the machine, or to others. */
const HIDDEN = [
  folder,
  process.execPath,
  '/opt/',
  '/srv/',
  '/etc/',
  's3cret',
  'hidden-path',
  '127.0.0.1',
  'localhost',
  'elsewhere.example',
  '.ts',
  'node_modules',
];

describe('a client that authenticates', () => {
  const keys = new TestKeys();
  keys.add('alice', { groups: ['team'] });
  const headers = keys.headers('alice');
  const harness = useGateway(() => ({
    servers,
    config: {
      processes: { maxStarting: 16 },
      auth: {
        keys: { file: keys.file },
        allow: [{ who: { groups: ['team'] }, servers: Object.keys(servers) }],
      },
    },
    waitReady: false,
  }));

  it.each(Object.entries(DOWN))(
    'is told of %s the reason and the server, no more (H05)',
    async (name, [, why]) => {
      const answer = await new ModernClient(harness.url(name), {}, headers).request(
        'resources/read',
        {
          uri: 'x:y',
        },
      );
      expect(answer.error?.data).toEqual({
        reason: 'server_unavailable',
        outcome: 'not_sent',
        server: name,
      });
      expect(answer.error?.message).toMatch(
        new RegExp(`^Server "${name}" is not available \\(\\w+\\); see the gateway's log\\.$`),
      );
      for (const text of HIDDEN) expect(answer.raw).not.toContain(text);
      await harness.gateway.waitForLog(
        (line) => line['server'] === name && JSON.stringify(line).includes(why),
      );
    },
  );

  it('is told the same of a session that can not be opened, on a WebSocket too (H05)', async () => {
    const ws = harness.track(
      await WsClient.connect(harness.gateway.endpoint('missing', 'ws'), { headers }),
    );
    const overHttp = await post(harness.url('missing'), initializeRequest(), headers).response();
    const overWs = await ws.request('initialize', initializeRequest()['params'] as Json);
    for (const text of HIDDEN) expect(`${overHttp.text}${overWs.raw}`).not.toContain(text);
    expect(overHttp.json()).toMatchObject({ error: { data: { server: 'missing' } } });
    expect(overWs.error?.data).toMatchObject({ server: 'missing' });
  });

  it('is told how a server ended, not where, when it ends at work (H05)', async () => {
    const session = harness.track(await LegacySession.open(harness.url('dying'), { headers }));
    const answer = await session.call('die');
    expect(answer.error?.message).toMatch(
      /^Server "dying" ended \(\w+\) before it answered; it may have run the request\.$/,
    );
  });

  it('leaves the details to the admin listener (H05)', async () => {
    const { unavailable } = (await send(`${harness.gateway.adminUrl}/readyz`)).json() as {
      unavailable: Record<string, string>;
    };
    expect(unavailable['missing']).toContain('no program "/opt/no-such-program"');
    expect(unavailable['exits']).toContain(LAST_WORDS);
    expect(unavailable['other']).toBeUndefined();
  });
});

describe('a client on the machine of a gateway without authentication', () => {
  const harness = useGateway(() => ({
    servers,
    config: { processes: { maxStarting: 16 } },
    waitReady: false,
  }));

  it.each(Object.entries(DOWN))('is told why %s is not there', async (name, [, why]) => {
    const answer = await new ModernClient(harness.url(name)).request('tools/list');
    expect(answer.raw).toContain(why);
  });
});

async function startTls(): Promise<Server> {
  const file = (name: string): Buffer =>
    readFileSync(new URL(`../../fixtures/tls/${name}`, import.meta.url));
  const server = createServer({ key: file('server.key'), cert: file('server.pem') });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return server;
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
