/**
 * Whose limits the tokens of an authorization server use: a subject may register any number of OAuth clients,
 * and has the limits of one principal with all of them together. Its sessions belong to the client all the same.
 */
import { afterAll, expect, it } from 'vitest';
import { send } from '../../support/http-client.ts';
import { LegacySession } from '../../support/legacy-session.ts';
import { fetchMetrics, metricSum } from '../../support/metrics.ts';
import { scriptedServer } from '../../support/scripted-server.ts';
import { TokenIssuer } from '../../support/token-issuer.ts';
import { until } from '../../support/until.ts';
import { useScripted } from '../../support/use-gateway.ts';

const AUDIENCE = 'api://sluice';
const issuer = await TokenIssuer.start();
afterAll(() => issuer.stop());

const { harness } = useScripted(scriptedServer(), {
  listen: { publicUrl: 'https://gw.example', allowedHosts: ['127.0.0.1'] },
  config: {
    auth: {
      issuers: [{ issuer: issuer.issuer, jwksUrl: issuer.jwksUrl, audiences: [AUDIENCE] }],
      allow: [{ servers: ['*'] }],
    },
    limits: { callsPerPrincipal: 2, streamsPerPrincipal: 2 },
    sessions: { maxPerPrincipal: 3 },
  },
});

async function open(sub: string, client_id: string): Promise<LegacySession> {
  const authorization = `Bearer ${await issuer.token({ aud: AUDIENCE, sub, client_id })}`;
  return harness.track(await LegacySession.open(harness.url(), { headers: { authorization } }));
}

it('a subject has one limit of streams with all of its clients', async () => {
  const [first, second, third] = [
    await open('streams', 'a'),
    await open('streams', 'b'),
    await open('streams', 'c'),
  ];
  expect((await first.openStream().head).status).toBe(200);
  expect((await second.openStream().head).status).toBe(200);
  expect((await third.openStream().head).status).toBe(429);
  const other = await open('somebody else', 'a');
  expect((await other.openStream().head).status).toBe(200);
});

it('a subject has one limit of calls with all of its clients', async () => {
  const sessions = [await open('calls', 'a'), await open('calls', 'b'), await open('calls', 'c')];
  const held = sessions
    .slice(0, 2)
    .map((session, at) => session.beginCall('hold', { key: `${at}` }));
  await until(async () => {
    const metrics = await fetchMetrics(harness.gateway.adminUrl);
    return metricSum(metrics, 'sluice_requests_in_flight') >= 2;
  });
  expect((await sessions[2]?.begin('ping').exchange.head)?.status).toBe(429);
  const service = await open('service', 'service');
  expect((await service.begin('ping').exchange.head).status).toBe(200);
  for (const { exchange } of held) exchange.destroy();
});

it('a subject has one limit of sessions, of which each belongs to one client', async () => {
  const sessions = [await open('many', 'a'), await open('many', 'b'), await open('many', 'c')];
  await open('many', 'd');
  const [first, second] = sessions;
  expect((await first?.begin('ping').exchange.head)?.status).toBe(404);
  expect((await second?.begin('ping').exchange.head)?.status).toBe(200);
  const authorization = `Bearer ${await issuer.token({ aud: AUDIENCE, sub: 'many', client_id: 'x' })}`;
  const theirs = await send(harness.url(), {
    method: 'DELETE',
    headers: { authorization, 'mcp-session-id': second?.sessionId ?? '' },
  });
  expect(theirs.status).toBe(404);
});
