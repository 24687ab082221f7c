// Sessions at remote servers that come to an end: what says so, what becomes of the calls that were
// refused, and servers that refuse everything.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { send } from '../support/http-client.ts';
import { LegacySession } from '../support/legacy-session.ts';
import { assertTablesEmpty, fetchMetrics, metricSum } from '../support/metrics.ts';
import {
  eventOf,
  type RemoteRequest,
  RemoteServer,
  sendJson,
  sendStream,
  type Takeover,
} from '../support/remote-server.ts';
import { SdkV1Server } from '../support/sdk-v1-server.ts';
import { until } from '../support/until.ts';
import { textOf } from '../support/wire-message.ts';

const TESTS = 19;
const sdk = new SdkV1Server();
let server: RemoteServer;
let gateway: Gateway;
let tests = 0;
/** The server of the test that runs. */
let name: string;

beforeAll(async () => {
  server = await RemoteServer.start();
  await sdk.start();
  // A server that fails often is left alone for a while, so that each test has one of its own.
  const names = Array.from({ length: TESTS }, (_, n) => `s${n}`);
  const servers = Object.fromEntries(names.map((n) => [n, { url: `${server.url}/${n}` }]));
  gateway = await startGateway({ servers: { ...servers, sdk: { url: sdk.url } } });
});

beforeEach(() => {
  name = `s${tests++}`;
});

afterEach(async () => {
  server.takeover = () => false;
  await assertTablesEmpty(gateway);
});

afterAll(async () => {
  await gateway.stop();
  await server.close();
  await sdk.kill();
});

async function withSession(
  use: (session: LegacySession) => Promise<void>,
  server = name,
): Promise<void> {
  const session = await LegacySession.open(gateway.endpoint(server));
  try {
    await use(session);
  } finally {
    await session.close();
  }
}

async function upIs(value: number): Promise<void> {
  const isUp = async (): Promise<boolean> => {
    const metrics = await fetchMetrics(gateway.adminUrl);
    return metricSum(metrics, 'sluice_server_up', { server: name }) === value;
  };
  await until(isUp, { what: `server_up ${value}`, timeoutMs: 40_000 });
}

/** Whether a request is to the server of this test. */
const isMine = ({ path }: RemoteRequest): boolean => path.endsWith(`/${name}`);

const posts = (method: string): RemoteRequest[] => server.posts(method).filter(isMine);

const sessionOf = ({ headers }: RemoteRequest): unknown => headers['mcp-session-id'];

const handshakes = (): number => posts('initialize').length;

/** Looks at the requests of this test alone. */
function takeOver(takeover: Takeover): void {
  server.takeover = (request) => isMine(request) && takeover(request);
}

/** Refuses, in this way, everything of the session that is open now. */
function forget(refuse: (request: RemoteRequest) => void): void {
  const forgotten = posts('notifications/initialized').map(sessionOf).at(-1);
  takeOver((request) => {
    if (request.method !== 'POST' || sessionOf(request) !== forgotten) return false;
    refuse(request);
    return true;
  });
}

const error = (code: number, message: string, id: unknown = null): unknown => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
});

test.each<[string, (request: RemoteRequest) => void]>([
  ['404', ({ response }) => response.writeHead(404).end('Session not found')],
  [
    '404 with an error for the request',
    ({ response, message }) =>
      sendJson(response, 404, error(-32_603, 'Session not found: 1', message.id)),
  ],
  ['410', ({ response }) => response.writeHead(410).end()],
  [
    '400 and that it is not initialized',
    ({ response }) =>
      sendJson(response, 400, error(-32_000, 'Bad Request: Server not initialized')),
  ],
  [
    '400 and that there is no valid session',
    ({ response }) => sendJson(response, 400, error(-32_000, 'No valid session ID provided')),
  ],
  [
    '401 and that it knows no such session',
    ({ response }) => response.writeHead(401).end('Unauthorized: Session not found'),
  ],
  [
    '200 and -32001 for the request',
    ({ response, message }) =>
      sendJson(response, 200, error(-32_001, 'Session not found', message.id)),
  ],
  [
    '200 and -32001 for no request',
    ({ response }) => sendJson(response, 200, error(-32_001, 'Unknown')),
  ],
  [
    '200 and a stream that says that it is not initialized',
    ({ response }) => {
      sendStream(response);
      response.end(eventOf(error(-32_000, 'Server not initialized')));
    },
  ],
])(
  'a server that forgot the session and answers %s gets a new handshake and the call',
  async (_, refuse) => {
    await withSession(async (session) => {
      const before = handshakes();
      forget(refuse);
      const { result } = await session.call('echo', { a: 1 });
      expect(result).toEqual({ content: [{ type: 'text', text: '{"a":1}' }] });
      expect(handshakes()).toBe(before + 1);
      const opened = posts('notifications/initialized').map(sessionOf);
      expect(posts('tools/call').map(sessionOf)).toEqual(opened);
    });
  },
);

test('of many calls that are refused at once none is lost, and none runs twice', async () => {
  await withSession(async (session) => {
    const before = handshakes();
    forget(({ response }) => response.writeHead(404).end());
    const calls = Array.from({ length: 30 }, (_, n) => session.call('echo', { n }));
    const answers = await Promise.all(calls);
    expect(answers.map((answer) => textOf(answer))).toEqual(
      answers.map((_, n) => JSON.stringify({ n })),
    );
    expect(handshakes()).toBe(before + 1);
    const now = posts('notifications/initialized').map(sessionOf).at(-1);
    expect(posts('tools/call').filter((call) => sessionOf(call) === now)).toHaveLength(30);
  });
});

test('a call that is refused in the next session too was not sent', async () => {
  await withSession(async (session) => {
    takeOver(({ message, response }) => {
      if (message.method !== 'tools/call') return false;
      response.writeHead(404).end();
      return true;
    });
    const { error: failure } = await session.call('echo');
    expect(failure).toMatchObject({
      code: -32_603,
      data: { reason: 'server_unavailable', outcome: 'not_sent' },
    });
    expect(posts('tools/call')).toHaveLength(2);
  });
});

test('an error about a session of a tool is an error like any other', async () => {
  await withSession(async (session) => {
    const before = handshakes();
    takeOver(({ message, response }) => {
      if (message.method !== 'tools/call') return false;
      sendJson(response, 200, error(-32_000, 'Session 7 not found', message.id));
      return true;
    });
    const answer = await session.call('echo');
    expect(answer.error).toEqual({ code: -32_000, message: 'Session 7 not found' });
    expect(handshakes()).toBe(before);
    expect(posts('tools/call')).toHaveLength(1);
  });
});

test('a server that agrees to sessions and refuses all in them is down, and says so', async () => {
  await withSession(async (session) => {
    takeOver(({ method, message, response }) => {
      if (method !== 'POST' || message.method === 'initialize') return false;
      sendJson(response, 400, error(-32_000, 'Bad Request: Server not initialized'));
      return true;
    });
    const { error: failure } = await session.call('echo');
    expect(failure).toMatchObject({
      code: -32_603,
      data: { reason: 'server_unavailable', outcome: 'not_sent' },
    });
    await upIs(0);
    const { text } = await send(`${gateway.adminUrl}/readyz`);
    expect(JSON.parse(text).unavailable ?? JSON.parse(text)).toHaveProperty(name);
    const isSaid = (line: Readonly<Record<string, unknown>>): boolean =>
      line['msg'] === 'server ended, it is started again' && line['server'] === name;
    expect(gateway.logs().some(isSaid)).toBe(true);
  });
});

test.each([401, 500])(
  'a server that answers %i to everything is down until it does not',
  async (status) => {
    await withSession(async (session) => {
      server.takeover = ({ response }) => {
        response.writeHead(status).end('no');
        return true;
      };
      const { error: failure } = await session.call('echo');
      expect(failure).toMatchObject({ code: -32_603, data: { reason: 'server_unavailable' } });
      await upIs(0);
      server.takeover = () => false;
      // Nobody has to call it for that.
      await upIs(1);
    });
  },
);

describe('the listening stream', () => {
  const CHANGED = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
  const gets = (): RemoteRequest[] =>
    server.requests.filter((request) => request.method === 'GET' && isMine(request));

  /** Has a session opened anew, and answers its GETs in turn. */
  async function reopen(...answers: ((request: RemoteRequest) => void)[]): Promise<void> {
    const forgotten = posts('notifications/initialized').map(sessionOf).at(-1);
    const before = gets().length;
    takeOver((request) => {
      const { method, response } = request;
      if (sessionOf(request) === forgotten) response.writeHead(404).end();
      else if (method === 'GET') answers[gets().length - before - 1]?.(request);
      else return false;
      return true;
    });
    await withSession(async (session) => {
      expect((await session.call('echo')).result).toBeDefined();
    });
  }

  const refuse =
    (status: number) =>
    ({ response }: RemoteRequest): void => {
      response.writeHead(status).end('no');
    };

  test.each([500, 404])('that was refused with %i at first is asked for again', async (status) => {
    await reopen(refuse(status), refuse(status), ({ response }) => {
      sendStream(response);
      response.write(eventOf(CHANGED));
    });
    await until(() => gets().length === 4);
    await withSession(async (session) => {
      const stream = session.openStream();
      gets().at(-1)?.response.write(eventOf(CHANGED));
      expect(await stream.messages.next()).toMatchObject(CHANGED);
    });
    expect(handshakes()).toBe(2);
    const said = gateway
      .logs()
      .filter(({ msg, server: at }) => at === name && String(msg).includes('listening stream'));
    expect(said.map(({ status: of }) => of)).toEqual([undefined, status, undefined]);
  });

  test('that says that the session is gone makes a new one, though nobody calls', async () => {
    await reopen(({ response }) => {
      sendStream(response);
      setImmediate(() => response.destroy());
    });
    const lost = posts('notifications/initialized').map(sessionOf).at(-1);
    takeOver((request) => {
      if (sessionOf(request) !== lost) return false;
      sendJson(request.response, 400, error(-32_000, 'Bad Request: Server not initialized'));
      return true;
    });
    await until(() => handshakes() === 3);
  });
});

test('an SDK 1.x server that was started again while nobody called it goes on', async () => {
  await withSession(async (session) => {
    expect(textOf(await session.call('count'))).toBe('1');
    await sdk.restart();
    expect(textOf(await session.call('count'))).toBe('2');
    expect(textOf(await session.call('count'))).toBe('3');
  }, 'sdk');
  expect(sdk.sessions).toBe(2);
});
