/**
 * Access tokens of authorization servers: which are accepted, how clients find out where to get one, and
 * what the gateway asks of the issuer.
 */
import { createHmac } from 'node:crypto';
import type { JWTPayload } from 'jose';
import { afterAll, describe, expect, it } from 'vitest';
import { HttpExchange, post, send } from '../../support/http-client.ts';
import { initializeRequest, LegacySession } from '../../support/legacy-session.ts';
import { ModernClient } from '../../support/modern-client.ts';
import { scriptedServer } from '../../support/scripted-server.ts';
import { TokenIssuer, type TokenOptions } from '../../support/token-issuer.ts';
import { useGateway } from '../../support/use-gateway.ts';
import { type UpgradeRefused, WsClient } from '../../support/ws-client.ts';

const PUBLIC = 'https://gw.example/tools';
const AUDIENCE = `${PUBLIC}/servers/one/mcp`;
const METADATA = 'https://gw.example/.well-known/oauth-protected-resource/tools';
const issuer = await TokenIssuer.start();
const down = await TokenIssuer.start();
down.status = 503;
const one = scriptedServer();
const two = scriptedServer();

const harness = useGateway(() => ({
  servers: { one: one.config, two: two.config },
  listen: { publicUrl: PUBLIC, allowedHosts: ['127.0.0.1'] },
  config: {
    auth: {
      issuers: [
        { issuer: issuer.issuer, jwksUrl: issuer.jwksUrl, audiences: ['api://sluice'] },
        { issuer: down.issuer, jwksUrl: down.jwksUrl },
      ],
      allow: [
        { who: { scopes: ['mcp:use'] }, servers: ['one'] },
        { who: { groups: ['ops'] }, servers: ['*'] },
      ],
    },
    limits: { failedLoginsPerMinute: 1000 },
  },
}));

afterAll(async () => {
  await Promise.all([issuer.stop(), down.stop()]);
});

const good: JWTPayload = { aud: AUDIENCE, scope: 'openid mcp:use' };

async function bearer(claims: JWTPayload = good, options: TokenOptions = {}): Promise<string> {
  return `Bearer ${await issuer.token(claims, options)}`;
}

async function opening(
  authorization: string,
  server = 'one',
): Promise<{ status: number; challenge: string | undefined }> {
  const response = await post(harness.url(server), initializeRequest(), {
    authorization,
  }).response();
  const { 'mcp-session-id': id, 'www-authenticate': challenge } = response.headers;
  if (typeof id === 'string') {
    await send(harness.url(server), {
      method: 'DELETE',
      headers: { authorization, 'mcp-session-id': id },
    });
  }
  return { status: response.status, challenge };
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('a token', () => {
  it.each<[string, JWTPayload]>([
    ["the endpoint's address", good],
    ['the address of another face of the endpoint', { ...good, aud: `${PUBLIC}/servers/one/sse` }],
    ['the gateway as a whole', { ...good, aud: PUBLIC }],
    ['a configured audience among others', { ...good, aud: ['x', 'api://sluice'] }],
  ])('for %s opens a session and is remembered', async (_, claims) => {
    const authorization = await bearer(claims);
    const session = harness.track(
      await LegacySession.open(harness.url(), { headers: { authorization } }),
    );
    expect((await session.call('echo', { text: 'x' })).result).toBeDefined();
    expect(issuer.fetches).toBe(1);
    expect(JSON.stringify(one.journal.messages())).not.toContain(authorization.slice(-40));
  });

  it.each<[string, JWTPayload]>([
    ['of another service', { ...good, aud: 'https://other.example' }],
    ['of another endpoint', { ...good, aud: `${PUBLIC}/servers/two/mcp` }],
    ['with a slash more', { ...good, aud: `${AUDIENCE}/` }],
    ['that is only the beginning', { ...good, aud: 'https://gw.example' }],
    ['that is longer', { ...good, aud: `${AUDIENCE}x` }],
    ['in capitals', { ...good, aud: AUDIENCE.toUpperCase() }],
    ['that is none', { scope: 'mcp:use' }],
    ['in an empty list', { ...good, aud: [] }],
  ])('GW-151 D02 for an audience %s gets 401', async (_, claims) => {
    expect((await opening(await bearer(claims))).status).toBe(401);
  });

  it.each<[string, () => Promise<string>]>([
    ['that is over', () => bearer(good, { seconds: -120 })],
    ['without an end', () => bearer(good, { seconds: undefined })],
    ['for ten years', () => bearer(good, { seconds: 315_360_000 })],
    ['that begins later', () => bearer({ ...good, nbf: Math.floor(Date.now() / 1000) + 3600 })],
    ['whose subject is no text', () => bearer({ ...good, sub: 7 as unknown as string })],
    ['with an empty subject', () => bearer({ ...good, sub: '' })],
    ['of another issuer', () => bearer({ ...good, iss: 'https://evil.example' })],
    ['of an issuer with a slash more', () => bearer({ ...good, iss: `${issuer.issuer}/` })],
    ['for something else', () => bearer(good, { typ: 'dpop+jwt' })],
    ['with an unknown critical header', () => bearer(good, { header: { crit: ['x'], x: 1 } })],
    ['that is no JWT', () => Promise.resolve('Bearer a.b')],
    ['that is changed', async () => (await bearer()).replace(/.{5}$/, 'AAAAA')],
    [
      'whose algorithm is none',
      () =>
        Promise.resolve(
          `Bearer ${encode({ alg: 'none' })}.${encode({ ...good, iss: issuer.issuer, sub: 'a', exp: 4e9 })}.`,
        ),
    ],
    [
      'signed with the public key as a secret',
      () => {
        const text = `${encode({ alg: 'HS256', kid: 'k1' })}.${encode({ ...good, iss: issuer.issuer, sub: 'a', exp: Math.floor(Date.now() / 1000) + 60 })}`;
        const mac = createHmac('sha256', JSON.stringify(issuer.published[0])).update(text);
        return Promise.resolve(`Bearer ${text}.${mac.digest('base64url')}`);
      },
    ],
    [
      'with a claim twice',
      async () => {
        const [header, payload] = (await bearer()).slice(7).split('.');
        const text = Buffer.from(payload ?? '', 'base64url')
          .toString()
          .replace(/}$/, ',"sub":"root"}');
        return `Bearer ${header}.${Buffer.from(text).toString('base64url')}.AAAA`;
      },
    ],
  ])('G06 %s gets 401', async (_, make) => {
    const fetches = issuer.fetches;
    const { status, challenge } = await opening(await make());
    expect(status).toBe(401);
    expect(challenge).toContain('error="invalid_token"');
    expect(issuer.fetches).toBe(fetches);
  });

  it('G06 of 20 KB is not even read', async () => {
    const { status } = await opening(await bearer({ ...good, x: 'x'.repeat(15_000) }));
    expect(status).toBe(431);
  });

  it('G06 with keys of its own is not believed, and nothing is fetched', async () => {
    const { published } = down;
    const header = { jku: down.jwksUrl, x5u: down.jwksUrl, jwk: published[0], kid: '../../jwks' };
    const before = down.fetches;
    const token = await down.token({ ...good, iss: issuer.issuer }, { header });
    expect((await opening(`Bearer ${token}`)).status).toBe(401);
    expect(down.fetches).toBe(before);
  });

  it('of a key that is new is accepted, made-up keys are not asked for again', async () => {
    const fetches = issuer.fetches;
    await issuer.addKey('k2');
    const statuses = await Promise.all(
      ['x1', 'x2', 'x3'].map(
        async (kid) => (await opening(await bearer(good, { header: { kid } }))).status,
      ),
    );
    expect(statuses).toEqual([401, 401, 401]);
    expect(issuer.fetches - fetches).toBeLessThanOrEqual(1);
  });

  it('G01 whose issuer can not be reached gets 503', async () => {
    const token = await down.token(good);
    const { status, headers } = await post(harness.url(), initializeRequest(), {
      authorization: `Bearer ${token}`,
    }).response();
    expect(status).toBe(503);
    expect(headers['retry-after']).toBeDefined();
  });

  it('GW-155 B06 of somebody else does not find the session, nor one of another client', async () => {
    const authorization = await bearer();
    const session = harness.track(
      await LegacySession.open(harness.url(), { headers: { authorization } }),
    );
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const statusAs = async (claims: JWTPayload): Promise<number> => {
      const headers = { authorization: await bearer({ ...good, ...claims }) };
      return (await session.post(ping, headers).response()).status;
    };
    expect(await statusAs({ sub: 'bob' })).toBe(404);
    expect(await statusAs({ client_id: 'other' })).toBe(404);
    expect(await statusAs({ jti: 'refreshed' })).toBe(200);
    // What the newest token allows is what counts.
    expect(await statusAs({ scope: 'openid' })).toBe(403);
    expect(await statusAs({})).toBe(200);
  });
});

describe('a client without a token', () => {
  it('GW-150 is told where to get one, on every way in', async () => {
    const challenge = `Bearer scope="mcp:use", resource_metadata="${METADATA}/servers/one/mcp"`;
    const { status, headers } = await post(harness.url(), initializeRequest()).response();
    expect([status, headers['www-authenticate']]).toEqual([401, challenge]);
    const modern = await new ModernClient(harness.url()).begin('server/discover').exchange.head;
    expect([modern.status, modern.headers['www-authenticate']]).toEqual([401, challenge]);
    const sse = await new HttpExchange(harness.gateway.endpoint('one', 'sse')).head;
    expect(sse.headers['www-authenticate']).toContain(`${METADATA}/servers/one/sse"`);
    const upgrade = await WsClient.connect(harness.gateway.endpoint('one', 'ws')).catch((e) => e);
    expect((upgrade as UpgradeRefused).status).toBe(401);
  });

  it('GW-150 A07 finds the document under both forms of its path, the same for any Host', async () => {
    for (const path of ['/servers/one/mcp', '/tools/servers/one/mcp']) {
      const url = `${harness.gateway.url}/.well-known/oauth-protected-resource${path}`;
      const headers = { host: 'gw.example', origin: 'https://anywhere.example' };
      const response = await send(url, { headers });
      expect(response.status).toBe(200);
      expect(response.headers['access-control-allow-origin']).toBe('*');
      expect(response.json()).toEqual({
        resource: AUDIENCE,
        authorization_servers: [issuer.issuer, down.issuer],
        bearer_methods_supported: ['header'],
        scopes_supported: ['mcp:use'],
      });
    }
    const root = await send(`${harness.gateway.url}/.well-known/oauth-protected-resource`);
    expect(root.json()).toMatchObject({ resource: PUBLIC });
  });

  it('GW-150 A08 a path that does not exist answers 401 too, and names the document of the whole', async () => {
    const nowhere = harness.gateway.endpoint('none');
    const { status, headers } = await post(nowhere, initializeRequest()).response();
    expect(status).toBe(401);
    expect(headers['www-authenticate']).toBe(`Bearer resource_metadata="${METADATA}"`);
    const wrong = await post(nowhere, initializeRequest(), { authorization: 'Bearer a.b.c' }).head;
    expect(wrong.headers['www-authenticate']).toContain('error="invalid_token"');
    for (const name of ['one', 'none']) {
      const url = `${harness.gateway.endpoint(name, 'sse')}?ticket=${'A'.repeat(43)}`;
      expect((await send(url)).headers['www-authenticate']).toContain('error="invalid_token"');
    }
    const authorization = await bearer({ ...good, aud: PUBLIC });
    const known = await post(nowhere, initializeRequest(), { authorization }).response();
    expect(known.status).toBe(404);
    expect(known.text).toContain('/servers/one/mcp');
    expect(known.text).not.toContain('/servers/two/mcp');
  });

  it.each(['/servers/one/messages', '/servers/none/mcp', 'x', '/..'])(
    'finds none under %s',
    async (path) => {
      const url = `${harness.gateway.url}/.well-known/oauth-protected-resource${path}`;
      expect((await send(url)).status).toBe(404);
    },
  );
});

describe('a token that is not enough', () => {
  it('GW-152 gets 403 with the scopes that would be', async () => {
    const { status, challenge } = await opening(await bearer({ aud: AUDIENCE, scope: 'openid' }));
    expect(status).toBe(403);
    expect(challenge).toBe(
      `Bearer error="insufficient_scope", scope="mcp:use", resource_metadata="${METADATA}/servers/one/mcp"`,
    );
  });

  it('G02 does not see an endpoint that no scope would open', async () => {
    const claims = { ...good, aud: `${PUBLIC}/servers/two/mcp` };
    expect((await opening(await bearer(claims), 'two')).status).toBe(404);
    expect((await opening(await bearer({ ...claims, groups: ['ops'] }), 'two')).status).toBe(200);
  });
});

it('H02 no token is in the log', async () => {
  const authorization = await bearer();
  await opening(authorization);
  expect(JSON.stringify(harness.gateway.logs())).not.toContain(authorization.slice(-30));
});
