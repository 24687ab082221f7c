/**
 * What issuers can do to a gateway: send it elsewhere, send too much, sign in other ways than agreed; and
 * how a token ends.
 */
import type { JWTPayload } from 'jose';
import { afterAll, describe, expect, it } from 'vitest';
import { post, send } from '../../support/http-client.ts';
import { initializeRequest, LegacySession } from '../../support/legacy-session.ts';
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

const { rig } = useScripted(scriptedServer(), {
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
  const client = rig.track(new ModernClient(rig.url(), {}, headers));
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

describe('a token that is over', () => {
  it('G08 is good no longer, though it was; its streams end', async () => {
    const headers = await bearer(good, { seconds: 4 }, { jti: 'streams' });
    const session = rig.track(await LegacySession.open(rig.url(), { headers }));
    const stream = session.openStream();
    expect((await stream.head).status).toBe(200);
    await stream.events.ended;
    expect((await post(rig.url(), initializeRequest(), headers).head).status).toBe(401);
    expect((await session.begin('ping').exchange.head).status).toBe(401);
    // The session is its subject's, whose next token finds it.
    const fresh = await bearer(good, {}, { jti: 'fresh' });
    const left = { method: 'DELETE', headers: { ...session.headers, ...fresh } };
    expect((await send(rig.url(), left)).status).toBe(200);
  });

  it('G08 B06 each message of a WebSocket needs it', async () => {
    const headers = await bearer(good, { seconds: 3 }, { jti: 'socket' });
    const ws = await rig.webSocket({}, { headers });
    await until(async () => {
      ws.sendText('{"jsonrpc":"2.0","id":"x","method":"ping"}');
      return (await Promise.race([ws.closed, Promise.resolve(undefined)])) === 1008;
    });
  });
});
