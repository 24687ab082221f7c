/**
 * One person with tokens that say different things, at servers that are started or called with what they
 * say: what one proof began, no other proof goes on with, and each call is made with its own (B10, B15).
 */
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { post, send } from '../../support/http-client.ts';
import { LegacySession } from '../../support/legacy-session.ts';
import { ModernClient, serverRequestsOf } from '../../support/modern-client.ts';
import { CAPABLE } from '../../support/principals.ts';
import { type RemoteRequest, RemoteServer } from '../../support/remote-server.ts';
import { FIXTURES, fixtureServer, scriptedServer } from '../../support/scripted-server.ts';
import { SseClient } from '../../support/sse-client.ts';
import { answerToken, TokenEndpoint } from '../../support/token-endpoint.ts';
import { TokenIssuer } from '../../support/token-issuer.ts';
import { until } from '../../support/until.ts';
import { useGateway } from '../../support/use-gateway.ts';
import { type Json, textOf, type WireMessage } from '../../support/wire-message.ts';

const AUDIENCE = 'api://gw';
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const issuer = await TokenIssuer.start();
const tokens = await TokenEndpoint.start();
const remote = await RemoteServer.start();
const held: RemoteRequest[] = [];

beforeEach(() => {
  // What is issued says for which token it is.
  tokens.takeover = ({ form, response }) => {
    const { tenant, jti } = decodeJwt(form['subject_token'] ?? '');
    const access_token = `up-${String(tenant)}-${String(jti)}`;
    answerToken(response, 200, { access_token, token_type: 'Bearer', expires_in: 300 });
    return true;
  };
});
afterAll(() => Promise.all([remote.close(), tokens.stop(), issuer.stop()]));

const own = { sharing: 'principal', env: { TENANT: '${principal.claims.tenant}' } };
const probe = { command: process.execPath, args: [join(FIXTURES, 'probe.ts')] };
const tasks = fixtureServer('scripted-tasks.ts', { config: own });
const asks = scriptedServer({ config: own });
const plain = fixtureServer('jsonrpc-line.ts', { config: { ...own, protocol: 'jsonrpc' } });
const listen = { publicUrl: 'https://gw.example', allowedHosts: ['127.0.0.1'] };
const auth = {
  issuers: [{ issuer: issuer.issuer, jwksUrl: issuer.jwksUrl, audiences: [AUDIENCE] }],
  allow: [{ servers: ['*'] }],
};
const harness = useGateway(() => ({
  servers: {
    one: { ...probe, ...own },
    each: { ...probe, ...own, sharing: 'session' },
    free: { ...probe, sharing: 'principal' },
    tasks: tasks.config,
    asks: asks.config,
    remote: {
      url: remote.url,
      sharing: 'principal',
      limits: { inFlight: 1 },
      auth: { type: 'token_exchange', tokenUrl: tokens.url, clientId: 'gw', clientSecret: 's' },
    },
  },
  listen,
  config: { auth },
}));

interface Proof {
  readonly authorization: string;
}

let ids = 0;

/** A token of one and the same person, with an id of its own. */
async function tokenOf(tenant: string, more: Json = {}): Promise<Proof> {
  const claims = { aud: AUDIENCE, sub: 'ann', tenant, jti: `t${++ids}`, ...more };
  return { authorization: `Bearer ${await issuer.token(claims)}` };
}

const sessionOf = async ({ authorization }: Proof, url: string): Promise<LegacySession> =>
  harness.track(await LegacySession.open(url, { headers: { authorization } }));
const modernOf = ({ authorization }: Proof, server: string, capabilities: Json): ModernClient =>
  harness.track(new ModernClient(harness.url(server), capabilities, { authorization }));

function callOf(name: string): Json {
  return { jsonrpc: '2.0', id: 'x', method: 'tools/call', params: { name, arguments: {} } };
}

/** The HTTP status of each way to go on with a session. */
async function statusesOf(session: LegacySession, { authorization }: Proof): Promise<number[]> {
  const headers = { ...session.headers, accept: 'text/event-stream', authorization };
  const posted = await post(session.url, callOf('look'), { ...session.headers, authorization });
  const { status } = await posted.response();
  const got = await send(session.url, { method: 'GET', headers });
  const deleted = await send(session.url, { method: 'DELETE', headers });
  return [status, got.status, deleted.status];
}

interface Look {
  readonly pid: number;
  readonly env: Readonly<Record<string, string>>;
}

const lookIn = (answer: WireMessage): Look => JSON.parse(textOf(answer)) as Look;

describe('a session', () => {
  it.each([
    ['of a process of the principal', '/servers/one', 'look'],
    ['of a process of its own', '/servers/each', 'look'],
    ['of several servers', '', 'one__look'],
  ])('%s is not found with a token that says something else', async (_, prefix, tool) => {
    const url = `${harness.gateway.url}${prefix}/mcp`;
    const red = await sessionOf(await tokenOf('RED'), url);
    const before = lookIn(await red.call(tool));
    expect(before.env['TENANT']).toBe('RED');
    expect(await statusesOf(red, await tokenOf('BLUE'))).toEqual([404, 404, 404]);
    expect(await statusesOf(red, await tokenOf(''))).toEqual([404, 404, 404]);
    const newer = await tokenOf('RED');
    const again = await post(url, callOf(tool), { ...red.headers, ...newer }).answer('x');
    expect(lookIn(again)).toMatchObject({ pid: before.pid, env: { TENANT: 'RED' } });
  });

  it('goes on with other claims where no server is told of them', async () => {
    const red = await sessionOf(await tokenOf('RED'), harness.url('free'));
    const { pid } = lookIn(await red.call('look'));
    const blue = { ...red.headers, ...(await tokenOf('BLUE', { scope: 'more' })) };
    expect(lookIn(await post(red.url, callOf('look'), blue).answer('x')).pid).toBe(pid);
  });

  it('finds a process of its own claims also after that ended', async () => {
    const red = await sessionOf(await tokenOf('RED'), harness.url('one'));
    const { pid } = lookIn(await red.call('look'));
    await statusesOf(red, await tokenOf('BLUE'));
    process.kill(pid, 'SIGKILL');
    const next = await until(async () => {
      const session = await sessionOf(await tokenOf('RED'), harness.url('one'));
      const answer = await session.call('look');
      return answer.error === undefined ? lookIn(answer) : undefined;
    });
    expect(next.pid).not.toBe(pid);
    expect(next.env['TENANT']).toBe('RED');
  });

  it('of HTTP+SSE takes messages with equal claims only', async () => {
    const red = await tokenOf('RED');
    const url = `${harness.gateway.url}/servers/one/sse`;
    const stream = harness.track(await SseClient.open(url, { ...red }));
    await stream.initialize({ version: '2024-11-05' });
    const say = async (proof: Proof): Promise<number> => {
      const headers = { 'content-type': 'application/json', ...proof };
      const ping = { jsonrpc: '2.0', id: 'p', method: 'ping' };
      const body = JSON.stringify(ping);
      return (await send(stream.postUrl, { method: 'POST', headers, body })).status;
    };
    expect(await say(await tokenOf('BLUE'))).toBe(404);
    expect(await say(await tokenOf('RED'))).toBe(202);
  });
});

describe('what was handed out', () => {
  it('B15 a task is unknown to a token that says something else', async () => {
    const red = await tokenOf('RED');
    const made = await modernOf(red, 'tasks', TASKS).call('hold');
    const taskId = String(made.result?.['taskId']);
    const ask = async (proof: Proof, method: string): Promise<WireMessage> =>
      await modernOf(proof, 'tasks', TASKS).request(method, { taskId });
    const blue = await tokenOf('BLUE');
    for (const method of ['tasks/get', 'tasks/cancel']) {
      expect((await ask(blue, method)).error?.code, method).toBe(-32_602);
    }
    expect((await ask(await tokenOf('RED'), 'tasks/get')).result).toMatchObject({ taskId });
    await ask(red, 'tasks/cancel');
  });

  it('GW-115 a state is none with a token that says something else', async () => {
    const red = modernOf(await tokenOf('RED'), 'asks', CAPABLE);
    const round = await red.call('ask', { v: 'x' });
    const [key = ''] = Object.keys(serverRequestsOf(round));
    const answers = { [key]: { action: 'accept', content: { answer: 'mine' } } };
    const blue = modernOf(await tokenOf('BLUE'), 'asks', CAPABLE);
    expect((await blue.retry('ask', { v: 'x' }, round, answers)).error?.code).toBe(-32_602);
    const newer = modernOf(await tokenOf('RED'), 'asks', CAPABLE);
    expect(textOf(await newer.retry('ask', { v: 'x' }, round, answers))).toContain('mine');
  });
});

describe('token_exchange', () => {
  beforeEach(() => {
    remote.requests.length = 0;
    held.length = 0;
    remote.takeover = () => false;
  });
  /** Which tokens the calls with this argument came in with. */
  const usedBy = (who: string): unknown[] =>
    remote
      .posts('tools/call')
      .filter(({ text }) => text.includes(`"${who}"`))
      .map(({ headers }) => headers.authorization);
  const idOf = ({ authorization }: Proof): string => {
    const { tenant, jti } = decodeJwt(authorization.slice('Bearer '.length));
    return `Bearer up-${String(tenant)}-${String(jti)}`;
  };

  it('a session is not found with a token of another tenant or other scopes', async () => {
    const red = await sessionOf(await tokenOf('RED', { scope: 'read' }), harness.url('remote'));
    for (const other of [
      await tokenOf('BLUE', { scope: 'read' }),
      await tokenOf('RED', { scope: 'read admin' }),
    ]) {
      expect(await statusesOf(red, other)).toEqual([404, 404, 404]);
    }
    expect((await red.call('echo')).error).toBeUndefined();
  });

  it('each call is made with the token that it came with, however long it waited', async () => {
    const proofs = {
      red1: await tokenOf('RED'),
      red2: await tokenOf('RED'),
      blue: await tokenOf('BLUE'),
      red3: await tokenOf('RED'),
    };
    const client = (who: keyof typeof proofs): ModernClient => modernOf(proofs[who], 'remote', {});
    await client('red1').call('echo', { who: 'first' });
    remote.takeover = (request) => {
      const isHeld = request.text.includes('"red1"') && request.message.method === 'tools/call';
      if (isHeld) held.push(request);
      return isHeld;
    };
    const calls: Promise<WireMessage>[] = [client('red1').call('echo', { who: 'red1' })];
    await until(() => held.length === 1);
    // These wait behind the first one.
    for (const who of ['red2', 'blue', 'red3'] as const) {
      calls.push(client(who).call('echo', { who }));
    }
    await until(() => usedBy('blue').length === 1);
    const { message, response } = held[0] as RemoteRequest;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { content: [] } }));
    await Promise.all(calls);
    for (const [who, proof] of Object.entries(proofs)) {
      expect(usedBy(who), who).toEqual([idOf(proof)]);
    }
  });
});

describe('a plain server', () => {
  // Who only POSTs never says that it is done.
  const sessions = { idle: '2s' };
  const apart = useGateway(() => ({
    servers: { plain: plain.config },
    listen,
    config: { auth, sessions },
  }));

  it('has a process for each proof', async () => {
    for (const tenant of ['RED', 'BLUE']) {
      const body = { jsonrpc: '2.0', id: 'x', method: 'echo', params: [tenant] };
      await post(apart.url('plain'), body, { ...(await tokenOf(tenant)) }).response();
    }
    const [red, blue] = plain.journal.messages('echo');
    expect([red?.params, blue?.params]).toEqual([['RED'], ['BLUE']]);
    expect(blue?.pid).not.toBe(red?.pid);
  });
});
