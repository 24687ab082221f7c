/**
 * A11, A12: clients that connect and are slow, or are too many, before anything is known of them. The
 * bounds are the server's own, made short here.
 */
import { connect, type Socket } from 'node:net';
import { pino } from 'pino';
import { afterEach, expect, it } from 'vitest';
import { Drain } from '../../../src/base/drain.ts';
import { HeldBytes, heldLimits } from '../../../src/base/held-bytes.ts';
import type { ListenerContext } from '../../../src/listener/context.ts';
import { HTTP_BOUNDS, type HttpBounds } from '../../../src/listener/http-bounds.ts';
import { HttpServer } from '../../../src/listener/http-server.ts';
import { PathTable } from '../../../src/listener/paths.ts';
import { RequestBodies } from '../../../src/listener/request-body.ts';
import { Metrics } from '../../../src/observe/metrics.ts';
import type { ServedEndpoint } from '../../../src/session/served-endpoint.ts';
import { send } from '../../support/http-client.ts';
import { until } from '../../support/until.ts';

const open: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

/** A listener on which nothing can be asked for, since nothing that is asked here is ever whole. */
async function listener(bounds: Partial<HttpBounds>) {
  const metrics = new Metrics({ version: '0', node: '0' });
  const nothing = (): void => undefined;
  const context = {
    options: {
      host: '127.0.0.1',
      port: 0,
      maxBody: 1_000_000,
      allowedHosts: [],
      allowedOrigins: [],
      publicUrl: undefined,
      tls: undefined,
    },
    metrics,
    logger: pino({ level: 'silent' }),
    drain: new Drain(),
    memoryPressure: { isHigh: false, close: nothing },
    bodies: new RequestBodies(new HeldBytes(heldLimits(0, 1_000_000)), { maxBytes: 1_000_000 }),
    gatekeeper: {
      isOn: false,
      open: nothing,
      close: nothing,
      admit: () => ({ principal: { key: 'p' } }),
      metadata: nothing,
      opens: () => true,
    },
  } as unknown as ListenerContext;
  const paths = new PathTable();
  const served = { name: '/', endpoint: { name: '/', protocol: 'mcp' }, drain: new Drain() };
  paths.add('', served as unknown as ServedEndpoint);
  const server = new HttpServer(context, paths, { ...HTTP_BOUNDS, ...bounds });
  const url = await server.listen();
  open.push(() => server.close());
  const rejected = async (reason: string): Promise<number> => {
    const { values } = await metrics.rejected.get();
    return values.find(({ labels }) => labels['reason'] === reason)?.value ?? 0;
  };
  return { url, rejected };
}

interface Peer {
  readonly socket: Socket;
  readonly closed: Promise<string>;
}

/** Connects and says something. `closed` is all that came back until the other side ended it. */
function peer(url: string, says: string, allowHalfOpen = false): Peer {
  const { hostname, port } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen });
  // Before it is connected, so that nothing that drips can come first.
  if (says !== '') socket.write(says);
  open.push(() => {
    socket.destroy();
  });
  let got = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    got += text;
  });
  socket.on('error', () => undefined);
  const closed = new Promise<string>((resolve) => {
    socket.on('close', () => resolve(got));
  });
  return { socket, closed };
}

const POST =
  'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n';

it.each([
  ['that say nothing', { headersMs: 300 }, ''],
  ['that never end their headers', { headersMs: 300 }, 'POST /mcp HTTP/1.1\r\nHost: 1'],
  ['that never end their body', { headersMs: 200, requestMs: 300 }, `${POST}{`],
])('A11 connections %s are ended with 408, others are served', async (_, bounds, says) => {
  const { url } = await listener({ ...bounds, sweepMs: 50 });
  const slow = Array.from({ length: 50 }, () => peer(url, says));
  const drips = setInterval(() => {
    for (const { socket } of slow) if (says !== '' && socket.writable) socket.write('1');
  }, 20);
  open.push(() => clearInterval(drips));
  const isOver = Promise.all(slow.map(({ closed }) => closed));
  expect((await send(`${url}/none`)).status).toBe(404);
  const answers = await isOver;
  for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  expect((await send(`${url}/none`)).status).toBe(404);
});

it('A12 connections beyond the cap are closed and counted, and there is room again later', async () => {
  const { url, rejected } = await listener({ connections: 3 });
  const held = [1, 2, 3].map(() => peer(url, 'GET /none HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'));
  await Promise.all(held.map(({ socket }) => new Promise((done) => socket.once('data', done))));
  expect(await peer(url, POST).closed).toBe('');
  expect(await rejected('connections')).toBe(1);
  held[0]?.socket.destroy();
  await until(async () => (await send(`${url}/none`).catch(() => undefined))?.status === 404);
});

it('A12 an upgrade that is refused is over, though its client never closes', async () => {
  const { url } = await listener({});
  const head = 'GET /none/ws HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\n';
  const { socket, closed } = peer(url, `${head}Upgrade: websocket\r\n\r\n`, true);
  await new Promise((done) => socket.once('end', done));
  // Nobody is there any more who takes it.
  const drips = setInterval(() => socket.writable && socket.write('1'), 20);
  open.push(() => clearInterval(drips));
  expect(await closed).toMatch(/^HTTP\/1\.1 404 /);
});

it('A11 A12 the bounds that users get are those that are documented', () => {
  expect(HTTP_BOUNDS).toMatchObject({ headersMs: 10_000, requestMs: 30_000, connections: 20_000 });
  expect(HTTP_BOUNDS.sweepMs).toBeLessThanOrEqual(5_000);
});
