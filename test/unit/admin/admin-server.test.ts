/** The admin listener toward whoever asks for very much, or takes all of its places. */
import { connect, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { AdminServer } from '../../../src/admin/admin-server.ts';
import { Metrics } from '../../../src/observe/metrics.ts';
import { until } from '../../support/until.ts';

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

async function listening(): Promise<URL> {
  const admin = new AdminServer({
    options: { host: '127.0.0.1', port: 0, socket: undefined, allowRemote: false },
    metrics: new Metrics({ version: '0', node: '0' }),
    notReadyBecause: () => [],
    unavailable: () => ({}),
    reload: () => undefined,
  });
  open.push(() => admin.close());
  return new URL(await admin.listen());
}

function connected(url: URL): Socket {
  const socket = connect(Number(url.port), url.hostname);
  socket.on('error', () => undefined);
  open.push(() => socket.destroy());
  return socket;
}

it('answers all that one connection asks for at once', async () => {
  const url = await listening();
  const socket = connected(url);
  let received = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text;
  });
  socket.write(`GET /healthz HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`.repeat(200));
  await until(() => received.match(/"status":"ok"/g)?.length === 200);
});

it('answers although connections that ask for nothing have taken all places', async () => {
  const url = await listening();
  const idle = Array.from({ length: 64 }, () => connected(url));
  await until(() => idle.every(({ pending }) => !pending));
  const answer = await fetch(new URL('/healthz', url));
  expect(await answer.json()).toEqual({ status: 'ok' });
  await until(() => idle.some(({ closed }) => closed));
});
