// Remote servers that begin to answer and never come to an end: what they hold, and for how long.
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { LegacySession } from '../support/legacy-session.ts';
import { assertTablesEmpty } from '../support/metrics.ts';
import { eventOf, type RemoteRequest, RemoteServer, sendStream } from '../support/remote-server.ts';
import { until } from '../support/until.ts';

const IN_FLIGHT = 4;
/** More than there are connections for all that is no call. */
const MANY = 40;
let server: RemoteServer;
let gateway: Gateway;

beforeAll(async () => {
  server = await RemoteServer.start();
  const options = { timeouts: { request: '1s' }, limits: { inFlight: IN_FLIGHT } };
  gateway = await startGateway({ servers: { one: { url: server.url, ...options } } });
});

afterEach(async () => {
  server.takeover = () => false;
  await assertTablesEmpty(gateway);
});

afterAll(async () => {
  await gateway.stop();
  await server.close();
});

async function withSession(use: (session: LegacySession) => Promise<void>): Promise<void> {
  const session = await LegacySession.open(gateway.endpoint('one'));
  try {
    await use(session);
  } finally {
    await session.close();
  }
}

/** Begins an answer that has no end. */
function begin({ response }: RemoteRequest, status: number, type: string): void {
  response.writeHead(status, { 'content-type': type });
  response.write(' ');
}

/** Answers what has this method without an end. @returns those that are still open */
function neverEnd(method: string, status: number, type: string): Set<RemoteRequest> {
  const open = new Set<RemoteRequest>();
  server.takeover = (request) => {
    if (request.message.method !== method) return false;
    begin(request, status, type);
    open.add(request);
    request.response.on('close', () => open.delete(request));
    return true;
  };
  return open;
}

test.each([
  ['application/json', 'JSON'],
  ['text/event-stream', 'a stream'],
])('a call that is answered with %s without an end is let go with its ping', async (type) => {
  const calls = new Set<RemoteRequest>();
  const pings = neverEnd('ping', 200, 'application/json');
  const { takeover } = server;
  server.takeover = (request) => {
    if (request.message.method !== 'tools/call') return takeover(request);
    begin(request, 200, type);
    calls.add(request);
    request.response.on('close', () => calls.delete(request));
    return true;
  };
  await withSession(async (session) => {
    const before = server.posts('ping').length;
    const { error } = await session.call('echo');
    expect(error).toMatchObject({ data: { reason: 'server_timeout' } });
    await until(() => server.posts('ping').length > before && pings.size + calls.size === 0);
  });
});

test('what is accepted without an end is let go, and keeps no call from the server', async () => {
  const open = neverEnd('notifications/x', 202, 'text/plain');
  await withSession(async (session) => {
    await Promise.all(Array.from({ length: MANY }, () => session.notify('notifications/x')));
    await until(() => open.size > 0);
    expect((await session.call('echo')).result).toBeDefined();
    await until(() => server.posts('notifications/x').length === MANY && open.size === 0);
  });
});

test('what is never accepted keeps no call from the server', async () => {
  server.takeover = ({ message }) => message.method === 'notifications/y';
  await withSession(async (session) => {
    await Promise.all(Array.from({ length: MANY }, () => session.notify('notifications/y')));
    await until(() => server.posts('notifications/y').length >= 32);
    for (let call = 0; call < 2 * IN_FLIGHT; call++) {
      expect((await session.call('echo')).result).toBeDefined();
    }
  });
});

test('a stream that stays open behind its answer is closed', async () => {
  server.takeover = (request) => {
    const { message, response } = request;
    if (message.method !== 'tools/call') return false;
    sendStream(response);
    response.write(eventOf({ jsonrpc: '2.0', id: message.id, result: { content: [] } }));
    return true;
  };
  await withSession(async (session) => {
    expect((await session.call('echo')).result).toEqual({ content: [] });
    const { response } = await until(() => server.posts('tools/call').at(-1));
    if (!response.closed) await once(response, 'close');
  });
});
