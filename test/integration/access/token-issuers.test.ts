/**
 * What issuers can do to a gateway: send it elsewhere, send too much, sign in other ways than agreed; and
 * how a token ends.
 */
import type { JWTPayload } from 'jose';
import { afterAll, describe, expect, it } from 'vitest';
import { post, send } from '../../support/http-client.ts';
import { initializeRequest, LegacySession } from '../../support/legacy-session.ts';
import { fetchMetrics, metricSum } from '../../support/metrics.ts';
import { ModernClient } from '../../support/modern-client.ts';
import { scriptedServer } from '../../support/scripted-server.ts';
import { TokenIssuer, type TokenOptions } from '../../support/token-issuer.ts';
import { until } from '../../support/until.ts';
import { useScripted } from '../../support/use-gateway.ts';

const AUDIENCE = 'api://sluice';
const issuers = {
  good: await TokenIssuer.start(),
  moved: await TokenIssuer.start(),
  large: await TokenIssuer.start(),
};
const { good, moved, large } = issuers;
moved.status = 302;
moved.location = '/elsewhere';
large.padding = 'x'.repeat(300_000);
// Before the gateway has asked for the keys.
await good.addKey('k384', 'ES384');

const { harness } = useScripted(scriptedServer(), {
  listen: { publicUrl: 'https://gw.example', allowedHosts: ['127.0.0.1'] },
  config: {
    auth: {
      issuers: Object.values(issuers).map(({ issuer, jwksUrl }) => ({
        issuer,
        jwksUrl,
        audiences: [AUDIENCE],
        clockSkew: '0s',
      })),
      allow: [{ servers: ['one'] }],
    },
    limits: { failedLoginsPerMinute: 1000 },
  },
});

afterAll(async () => {
  await Promise.all(Object.values(issuers).map((one) => one.stop()));
});

async function bearer(
  from: TokenIssuer,
  options: TokenOptions = {},
  claims: JWTPayload = {},
): Promise<{ readonly authorization: string }> {
  return { authorization: `Bearer ${await from.token({ aud: AUDIENCE, ...claims }, options)}` };
}

async function status(headers: { readonly authorization: string }): Promise<number> {
  const client = harness.track(new ModernClient(harness.url(), {}, headers));
  return (await client.begin('server/discover').exchange.head).status;
}

it('a token of a good issuer is accepted', async () => {
  expect(await status(await bearer(good))).toBe(200);
});

describe('a token', () => {
  it('D04 whose issuer redirects gets 503, and nobody is asked elsewhere', async () => {
    expect(await status(await bearer(moved))).toBe(503);
    expect(moved.fetches).toBe(1);
  });

  it('F78 whose issuer sends too much gets 503', async () => {
    expect(await status(await bearer(large))).toBe(503);
  });

  it('G06 with an algorithm that is not listed gets 401', async () => {
    const options = { kid: 'k384', header: { alg: 'ES384' } };
    expect(await status(await bearer(good, options))).toBe(401);
  });

  it.each(['"sub":"root"', '"su\\u0062":"root"', '"aud":"other"', '"exp":4102444800'])(
    'G06 with a claim twice gets 401, however well it is signed: %s',
    async (twice) => {
      const exp = Math.floor(Date.now() / 1000) + 300;
      const claims = { iss: good.issuer, sub: 'alice', aud: AUDIENCE, exp };
      const once = JSON.stringify(claims);
      expect(await status({ authorization: `Bearer ${await good.sign(once)}` })).toBe(200);
      const text = once.replace(/}$/, `,${twice}}`);
      expect(await status({ authorization: `Bearer ${await good.sign(text)}` })).toBe(401);
    },
  );
});

const seconds = (ahead: number): number => Math.floor(Date.now() / 1000) + ahead;

describe('why a token is refused', () => {
  const day = 86_400;
  const cases: [string, JWTPayload, TokenOptions, object][] = [
    ['audience', { aud: 'api://other' }, {}, { claim: 'aud', given: '["api://other"]' }],
    ['issuer', { iss: 'https://no.example' }, {}, { claim: 'iss', given: 'https://no.example' }],
    ['not_before', { nbf: seconds(900) }, {}, { claim: 'nbf', expected: 'in the past' }],
    ['issued_at', { iat: seconds(900) }, {}, { claim: 'iat', expected: 'in the past' }],
    ['expired', {}, { seconds: -60 }, { claim: 'exp', expected: 'in the future' }],
    [
      'lifetime',
      {},
      { seconds: 3 * day },
      { claim: 'exp', expected: expect.stringMatching('24h') },
    ],
    ['claim', {}, { seconds: undefined }, { claim: 'exp', expected: 'to be there' }],
    ['type', {}, { typ: 'id+jwt' }, { claim: 'typ', given: 'id+jwt' }],
    ['algorithm', {}, { kid: 'k384', header: { alg: 'ES384' } }, { claim: 'alg', given: 'ES384' }],
    ['key', {}, { header: { kid: 'gone' } }, { claim: 'kid', given: 'gone' }],
  ];

  it.each(cases)('is told, counted and logged: %s', async (reason, claims, options, about) => {
    const before = await refusedFor(reason);
    // Each is another token, so that no answer is one that is remembered.
    const tokens = [
      await bearer(good, options, { jti: '1', ...claims }),
      await bearer(good, options, { jti: '2', ...claims }),
    ];
    for (const headers of tokens) {
      const answer = await post(harness.url(), initializeRequest(), headers).response();
      expect(answer.status).toBe(401);
      expect(answer.headers['www-authenticate']).toMatch(
        /^Bearer error="invalid_token", error_description="[^"\\]+", /,
      );
      const claim = (about as { readonly claim: string }).claim;
      expect(answer.headers['www-authenticate']).toContain(claim);
      expect(answer.text).toContain(claim);
    }
    expect((await refusedFor(reason)) - before).toBe(2);
    const lines = harness.gateway.logs().filter((line) => line['msg'] === 'token refused');
    const own = lines.filter((line) => line['reason'] === reason);
    expect(own).toEqual([expect.objectContaining({ level: 'info', ...about })]);
    const text = JSON.stringify(lines);
    for (const { authorization } of tokens) {
      expect(text).not.toContain(authorization.split('.')[2]);
    }
  });

  it('is told for which address a token has to be', async () => {
    const headers = await bearer(good, {}, { aud: 'api://other', jti: '3' });
    const { headers: head } = await post(harness.url(), initializeRequest(), headers).response();
    expect(head['www-authenticate']).toContain('get one for https://gw.example/servers/one/mcp.');
  });

  async function refusedFor(reason: string): Promise<number> {
    const metrics = await fetchMetrics(harness.gateway.adminUrl);
    return metricSum(metrics, 'sluice_tokens_refused_total', { reason });
  }
});

describe('a token that is over', () => {
  it('G08 is good no longer, though it was; its streams end', async () => {
    const headers = await bearer(good, { seconds: 4 }, { jti: 'streams' });
    const session = harness.track(await LegacySession.open(harness.url(), { headers }));
    const stream = session.openStream();
    expect((await stream.head).status).toBe(200);
    await stream.events.ended;
    expect((await post(harness.url(), initializeRequest(), headers).head).status).toBe(401);
    expect((await session.begin('ping').exchange.head).status).toBe(401);
    // The session is its subject's, whose next token finds it.
    const fresh = await bearer(good, {}, { jti: 'fresh' });
    const left = { method: 'DELETE', headers: { ...session.headers, ...fresh } };
    expect((await send(harness.url(), left)).status).toBe(200);
  });

  it('G08 B06 each message of a WebSocket needs it', async () => {
    const headers = await bearer(good, { seconds: 3 }, { jti: 'socket' });
    const ws = await harness.webSocket({}, { headers });
    await until(async () => {
      ws.sendText('{"jsonrpc":"2.0","id":"x","method":"ping"}');
      return (await Promise.race([ws.closed, Promise.resolve(undefined)])) === 1008;
    });
  });
});
