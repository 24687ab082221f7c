/**
 * How the gateway comes in at remote servers: tokens of its own, tokens in the name of each client,
 * secrets of files that change, certificates; and what it never sends (GW-154,
 * docs/reliability.md#d01, #d10).
 */
import { readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { TestKeys } from '../support/api-keys.ts';
import { post } from '../support/http-client.ts';
import { LegacySession } from '../support/legacy-session.ts';
import { type RemoteRequest, RemoteServer, sendJson } from '../support/remote-server.ts';
import { FIXTURES } from '../support/scripted-server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { answerToken, TokenEndpoint } from '../support/token-endpoint.ts';
import { TokenIssuer } from '../support/token-issuer.ts';
import { until } from '../support/until.ts';
import { useGateway } from '../support/use-gateway.ts';
import { textOf } from '../support/wire-message.ts';

const PUBLIC = 'https://gw.example';
const remote = await RemoteServer.start();
const other = await RemoteServer.start();
const tokens = await TokenEndpoint.start();
const issuer = await TokenIssuer.start();

beforeEach(() => {
  remote.takeover = () => false;
  remote.requests.length = 0;
  tokens.takeover = () => false;
  tokens.requests.length = 0;
  tokens.lifetime = 300;
});

afterAll(async () => {
  await Promise.all([remote.close(), other.close(), tokens.stop(), issuer.stop()]);
});

const client = {
  tokenUrl: tokens.url,
  clientId: 'gate way',
  clientSecret: 'p:ss%rd',
};
const isCall = ({ message }: RemoteRequest): boolean => message.method === 'tools/call';
const sentTo = (server: RemoteServer): unknown[] =>
  server.requests.map(({ headers }) => headers.authorization);

async function failureOf(session: LegacySession): Promise<Record<string, unknown>> {
  const { error } = await session.call('echo');
  return { message: error?.message, ...(error?.data as object) };
}

describe('client_credentials', () => {
  const auth = { type: 'client_credentials', ...client, scope: 'a b', resource: 'https://x/mcp' };
  const harness = useGateway(() => ({
    servers: { one: { url: remote.url, auth, start: 'lazy' } },
  }));

  it('asks once for everybody, and sends nothing of the client (GW-154)', async () => {
    const headers = { authorization: 'Bearer of-the-client', cookie: 'a=b', 'x-api-key': 'k' };
    const session = await harness.session({ headers });
    await Promise.all(Array.from({ length: 10 }, () => session.call('echo')));
    expect(tokens.requests).toHaveLength(1);
    const [{ form, headers: asked } = {}] = tokens.requests;
    expect(form).toEqual({
      grant_type: 'client_credentials',
      scope: 'a b',
      resource: 'https://x/mcp',
    });
    const basic = Buffer.from('gate+way:p%3Ass%25rd').toString('base64');
    expect(asked?.authorization).toBe(`Basic ${basic}`);
    expect(new Set(sentTo(remote))).toEqual(new Set(['Bearer token-1']));
    const all = JSON.stringify([...remote.requests, ...tokens.requests].map((one) => one.headers));
    expect(all).not.toMatch(/of-the-client|a=b|x-api-key/);
  });

  it('asks for no other token when a fresh one is refused', async () => {
    const session = await harness.session();
    remote.takeover = (request) => {
      if (request.headers.authorization !== 'Bearer token-1') return false;
      sendJson(request.response, 401, {});
      return true;
    };
    expect(await failureOf(session)).toMatchObject({ reason: 'server_unavailable' });
    expect(tokens.requests).toHaveLength(0);
  });
});

describe('tokens that run out', () => {
  const auth = { type: 'client_credentials', ...client, clientAuth: 'post' };
  const harness = useGateway(() => ({
    servers: { one: { url: remote.url, auth, start: 'lazy' } },
  }));

  it('are replaced in time', async () => {
    tokens.lifetime = 1;
    const session = await harness.session();
    const seen = await until(async () => {
      await session.call('echo');
      const all = new Set(sentTo(remote));
      return all.size >= 3 ? all : undefined;
    });
    expect(seen.size).toBeGreaterThanOrEqual(3);
    expect(tokens.requests.length).toBeLessThanOrEqual(seen.size + 1);
    const [{ form, headers } = {}] = tokens.requests;
    expect(form).toMatchObject({ client_id: 'gate way', client_secret: 'p:ss%rd' });
    expect(headers?.authorization).toBeUndefined();
  });
});

const BAD_ANSWERS: Readonly<Record<string, (response: ServerResponse) => void>> = {
  'refused with invalid_client': (response) =>
    answerToken(response, 401, { error: 'invalid_client', error_description: 'secret-x' }),
  'is not followed': (response) => response.writeHead(307, { location: other.url }).end(),
  'is too large': (response) =>
    answerToken(response, 200, { access_token: 'x', pad: 'x'.repeat(100_000) }),
  'without a bearer token': (response) =>
    answerToken(response, 200, { access_token: 'a\r\nb', token_type: 'Bearer' }),
  'HTTP 500': (response) => response.writeHead(500).end('<html>'),
};

describe('D07 a token endpoint', () => {
  const texts = Object.keys(BAD_ANSWERS);
  const auth = { type: 'client_credentials', ...client };
  const entry = { url: remote.url, auth, start: 'lazy', timeouts: { start: '1s' } };
  const harness = useGateway(() => ({
    servers: Object.fromEntries(texts.map((_, index) => [`s${index}`, entry])),
  }));

  it.each(texts.map((text, index) => [text, `s${index}`]))(
    'that fails (%s) fails the call before it is sent',
    async (text, name) => {
      tokens.takeover = ({ response }) => {
        BAD_ANSWERS[text]?.(response);
        return true;
      };
      const session = await LegacySession.open(harness.url(name)).catch((error: unknown) => error);
      expect(String(session)).not.toMatch(/secret-x|127\.0\.0\.1:\d+\/token/);
      await harness.gateway.waitForLog((line) => JSON.stringify(line).includes(text));
      expect(JSON.stringify(harness.gateway.logs())).not.toMatch(/secret-x|p:ss%rd/);
      expect(remote.requests).toEqual([]);
      expect(other.requests).toEqual([]);
    },
  );
});

describe('secrets of files', () => {
  const folder = tempDir();
  const file = join(folder, 'token');
  writeFileSync(file, 'old\n');
  const headers = { Authorization: `Bearer \${file:${file}}`, 'X-Plain': 'p' };
  const harness = useGateway(() => ({ servers: { one: { url: remote.url, headers } } }));

  it('are read again when the server says no', async () => {
    const session = await harness.session();
    remote.takeover = (request) => {
      if (request.headers.authorization === 'Bearer new') return false;
      sendJson(request.response, 401, {});
      return true;
    };
    writeFileSync(file, 'new\n');
    expect((await session.call('echo', { a: 1 })).error).toBeUndefined();
    expect(remote.posts('tools/call').at(-1)?.headers).toMatchObject({ 'x-plain': 'p' });
    expect(JSON.stringify(harness.gateway.logs())).not.toMatch(/Bearer (old|new)/);
  });

  it('that can not be sent change nothing', async () => {
    const session = await harness.session();
    writeFileSync(file, 'two\nlines\n');
    await until(async () => {
      await session.call('echo');
      return harness.gateway
        .logs()
        .find(({ msg }) => msg === 'secrets not read again, the old ones stay');
    });
    expect(remote.posts('tools/call').at(-1)?.headers.authorization).toBe('Bearer new');
  });
});

describe('a server that asks to be left alone', () => {
  const harness = useGateway(() => ({ servers: { one: { url: remote.url } } }));

  it('is, and its callers are told for how long', async () => {
    const session = await harness.session();
    let refused = 0;
    remote.takeover = (request) => {
      if (!isCall(request)) return false;
      refused++;
      request.response.writeHead(429, { 'retry-after': '2' }).end();
      return true;
    };
    const failure = { reason: 'rate_limited', outcome: 'not_sent', server: 'one' };
    expect(await failureOf(session)).toMatchObject({ ...failure, retryAfter: 2 });
    const again = await failureOf(session);
    expect(again).toMatchObject(failure);
    expect(again['retryAfter']).toBeGreaterThanOrEqual(1);
    expect(refused).toBe(1);
    remote.takeover = () => false;
    await until(async () => (await session.call('echo')).error === undefined);
  });
});

describe('token_exchange', () => {
  const keys = new TestKeys();
  keys.add('robot');
  const auth = {
    ...{ type: 'token_exchange', ...client, audience: 'https://up.example' },
  };
  const harness = useGateway(() => ({
    servers: {
      one: { url: remote.url, auth, sharing: 'principal' },
      own: {
        command: process.execPath,
        args: [join(FIXTURES, 'probe.ts')],
        sharing: 'principal',
        env: { MAIL: '<${principal.claims.email}>', WHO: '${principal.name}' },
      },
    },
    listen: { publicUrl: PUBLIC, allowedHosts: ['127.0.0.1'] },
    config: {
      auth: {
        keys: { file: keys.file },
        issuers: [{ issuer: issuer.issuer, jwksUrl: issuer.jwksUrl, audiences: ['api://gw'] }],
        allow: [{ servers: ['*'] }],
      },
    },
  }));

  async function as(
    claims: Record<string, unknown>,
    server = 'one',
  ): Promise<[LegacySession, string]> {
    const token = await issuer.token({ aud: 'api://gw', ...claims });
    const session = await harness.session({
      server,
      headers: { authorization: `Bearer ${token}` },
    });
    return [session, token];
  }

  it('calls in the name of each client, with a token of theirs alone', async () => {
    const [alice, aliceToken] = await as({ sub: 'alice' });
    const [bob, bobToken] = await as({ sub: 'bob' });
    await Promise.all([alice.call('echo', { who: 'alice' }), bob.call('echo', { who: 'bob' })]);
    await alice.call('echo', { who: 'alice' });
    expect(tokens.requests.map(({ form }) => form['subject_token'])).toEqual([
      aliceToken,
      bobToken,
    ]);
    expect(tokens.requests[0]?.form).toMatchObject({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      audience: 'https://up.example',
    });
    const used = (who: string): unknown[] =>
      remote
        .posts('tools/call')
        .filter(({ text }) => text.includes(`"${who}"`))
        .map(({ headers }) => headers.authorization);
    expect(new Set(used('alice')).size).toBe(1);
    expect(new Set(used('bob')).size).toBe(1);
    expect(used('alice')[0]).not.toBe(used('bob')[0]);
    const all = JSON.stringify(remote.requests.map(({ rawHeaders, text }) => [rawHeaders, text]));
    for (const token of [aliceToken, bobToken]) {
      expect(all).not.toContain(token);
      expect(JSON.stringify(harness.gateway.logs())).not.toContain(token);
    }
  });

  it('does not serve a client with the token of the same one with other scopes', async () => {
    const [narrow] = await as({ sub: 'carol', scope: 'read' });
    const [wide] = await as({ sub: 'carol', scope: 'read write' });
    await wide.call('echo', { who: 'wide' });
    await narrow.call('echo', { who: 'narrow' });
    const used = (who: string): unknown =>
      remote.posts('tools/call').find(({ text }) => text.includes(`"${who}"`))?.headers
        .authorization;
    expect(used('narrow')).toBeDefined();
    expect(used('narrow')).not.toBe(used('wide'));
  });

  it('takes the newest token of a client', async () => {
    const [dave, first] = await as({ sub: 'dave' });
    await dave.call('echo');
    const second = await issuer.token({ aud: 'api://gw', sub: 'dave', jti: 'second' });
    const url = harness.url('one');
    const body = { jsonrpc: '2.0', id: 'x', method: 'tools/call', params: { name: 'echo' } };
    await post(url, body, { ...dave.headers, authorization: `Bearer ${second}` }).response();
    const subjects = tokens.requests.map(({ form }) => form['subject_token']);
    expect(subjects).toEqual([first, second]);
  });

  it.each([
    [
      'that is refused',
      'invalid_grant; the token of the client was not accepted',
      (subject: string) => [400, { error: 'invalid_grant', subject }],
    ],
    [
      'that is given back',
      'returned the token of the client',
      (subject: string) => [200, { access_token: subject, token_type: 'Bearer' }],
    ],
  ] as const)('a token %s is not passed on', async (name, text, answer) => {
    tokens.takeover = ({ form, response }) => {
      const [status, body] = answer(form['subject_token'] ?? '');
      answerToken(response, status as number, body);
      return true;
    };
    const token = await issuer.token({ aud: 'api://gw', sub: `eve ${name}` });
    const headers = { authorization: `Bearer ${token}` };
    await LegacySession.open(harness.url('one'), { headers }).catch(() => undefined);
    await harness.gateway.waitForLog((line) => JSON.stringify(line).includes(text));
    expect(remote.requests).toEqual([]);
    expect(JSON.stringify(harness.gateway.logs())).not.toContain(token);
  });

  it('needs a token: an API key has none', async () => {
    const headers = keys.headers('robot');
    await LegacySession.open(harness.url('one'), { headers }).catch(() => undefined);
    await harness.gateway.waitForLog((line) =>
      JSON.stringify(line).includes('your request has none'),
    );
    expect(remote.requests).toEqual([]);
    expect(tokens.requests).toEqual([]);
  });

  it('and processes have the claims of their client', async () => {
    const look = async (
      session: LegacySession,
    ): Promise<{ env: Record<string, string>; pid: number }> =>
      JSON.parse(textOf(await session.call('look'))) as {
        env: Record<string, string>;
        pid: number;
      };
    const [alice] = await as({ sub: 'alice', email: 'alice@example.com' }, 'own');
    const [again] = await as({ sub: 'alice', email: 'alice@example.com', jti: '2' }, 'own');
    const [moved] = await as({ sub: 'alice', email: 'new@example.com' }, 'own');
    const first = await look(alice);
    expect(first.env).toMatchObject({ MAIL: '<alice@example.com>', WHO: 'alice' });
    expect((await look(again)).pid).toBe(first.pid);
    const other = await look(moved);
    expect(other.env['MAIL']).toBe('<new@example.com>');
    expect(other.pid).not.toBe(first.pid);
    const token = await issuer.token({ aud: 'api://gw', sub: 'bob' });
    const headers = { authorization: `Bearer ${token}` };
    const refused = await LegacySession.open(harness.url('own'), { headers }).catch(String);
    expect(String(refused)).toContain(
      '${principal.claims.email} of its client, and yours is missing',
    );
    expect(JSON.stringify(harness.gateway.logs())).not.toMatch(/alice@example|new@example/);
  });
});

describe('certificates', () => {
  const file = (name: string): string => join(import.meta.dirname, '../fixtures/tls', name);
  let names: string[] = [];
  let forms: { readonly form: string; readonly authorization: string | undefined }[] = [];
  beforeEach(() => {
    names = [];
    forms = [];
  });
  const server: Server = createServer(
    {
      ca: readFileSync(file('clients.pem')),
      cert: readFileSync(file('server.pem')),
      key: readFileSync(file('server.key')),
      requestCert: true,
      rejectUnauthorized: false,
    },
    (request, response) => {
      if (request.method !== 'POST') {
        response.writeHead(405).end();
        return;
      }
      const socket = request.socket as import('node:tls').TLSSocket;
      if (socket.authorized) names.push(String(socket.getPeerCertificate().subject.CN));
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        if (request.url === '/token') {
          const { authorization } = request.headers;
          forms.push({ form: Buffer.concat(chunks).toString(), authorization });
          const token = { access_token: 'of-certificate', token_type: 'Bearer' };
          return sendJson(response, socket.authorized ? 200 : 401, token);
        }
        const message = JSON.parse(Buffer.concat(chunks).toString() || '{}') as {
          id?: number;
          method?: string;
        };
        if (message.id === undefined) return response.writeHead(202).end();
        const hello = {
          protocolVersion: '2025-11-25',
          capabilities: {},
          serverInfo: { name: 's', version: '1' },
        };
        const result =
          message.method === 'initialize' ? hello : { content: [{ type: 'text', text: 'tls' }] };
        return sendJson(response, 200, { jsonrpc: '2.0', id: message.id, result });
      });
    },
  ).listen(0, '127.0.0.1');
  const url = (): string => `https://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const base = (): Record<string, unknown> => ({
    url: url(),
    transport: 'streamable-http',
    start: 'lazy',
    timeouts: { start: '1s' },
  });
  const harness = useGateway(() => ({
    servers: {
      one: {
        ...base(),
        tls: { ca: file('server.pem'), cert: file('alice.pem'), key: file('alice.key') },
      },
      certified: {
        ...base(),
        tls: { ca: file('server.pem'), cert: file('alice.pem'), key: file('alice.key') },
        auth: {
          type: 'client_credentials',
          tokenUrl: url().replace('/mcp', '/token'),
          clientId: 'gateway',
          clientAuth: 'certificate',
          ca: file('server.pem'),
        },
      },
      plain: { ...base(), tls: { ca: file('server.pem') } },
      system: base(),
      wrong: { ...base(), tls: { ca: file('clients.pem') } },
      gone: { ...base(), tls: { ca: file('nope.pem') } },
    },
  }));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it('of a server are checked against its own bundle, and the gateway shows its own', async () => {
    expect(textOf(await (await harness.session()).call('echo'))).toBe('tls');
    // The name in the fixture's certificate.
    expect(new Set(names)).toEqual(new Set(['x']));
    names = [];
    expect(textOf(await (await harness.session({ server: 'plain' })).call('echo'))).toBe('tls');
    expect(names).toEqual([]);
  });

  it('get the gateway a token where it has no secret', async () => {
    const session = await harness.session({ server: 'certified' });
    expect(textOf(await session.call('echo'))).toBe('tls');
    const form = 'grant_type=client_credentials&client_id=gateway';
    expect(forms).toEqual([{ form, authorization: undefined }]);
  });

  it.each(['system', 'wrong', 'gone'])(
    'that are not trusted are refused: %s (D10)',
    async (name) => {
      const failed = await LegacySession.open(harness.url(name)).catch(String);
      expect(typeof failed).toBe('string');
      const text =
        name === 'gone' ? "tls.ca can't be used, there is no such file" : 'could not be reached';
      await harness.gateway.waitForLog(
        (line) => line['server'] === name && JSON.stringify(line).includes(text),
      );
      expect(names).toEqual([]);
    },
  );
});

describe('allowPrivate: false', () => {
  const harness = useGateway(() => ({
    servers: {
      one: { url: remote.url, allowPrivate: false },
      name: { url: remote.url.replace('127.0.0.1', 'localhost'), allowPrivate: false },
    },
    waitReady: false,
  }));

  it.each(['one', 'name'])('nothing of this machine is called: %s (D06)', async (name) => {
    const failed = await LegacySession.open(harness.url(name)).catch(String);
    expect(failed).toContain('has no public address, and allowPrivate is false');
    expect(remote.requests).toEqual([]);
  });
});
