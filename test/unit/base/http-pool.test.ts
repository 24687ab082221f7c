// What a server may send before its answer: some informational responses, and not without an end.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  directConnector,
  type HttpPool,
  openPool,
  TooManyInformational,
} from '../../../src/base/http-pool.ts';

const HINT = 'HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n';
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';

let server: Server;
let pool: HttpPool;
let answer: (socket: Socket) => void = () => undefined;

beforeEach(async () => {
  server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => answer(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  pool = openPool(`http://127.0.0.1:${port}`, { connect: directConnector(60_000) }, undefined);
});
afterEach(async () => {
  await pool.destroy();
  await new Promise((resolve) => server.close(resolve));
});

const request = () => pool.request({ path: '/', method: 'GET', headers: {} });

it('an answer may come after some informational responses', async () => {
  answer = (socket) => void socket.write(HINT.repeat(50) + ANSWER);
  const { statusCode, body } = await request();
  expect([statusCode, await body.text()]).toEqual([200, '{}']);
});

it('a request fails, and its connection ends, when informational responses do not end', async () => {
  const closed = Promise.withResolvers<void>();
  answer = (socket) => {
    socket.once('close', () => closed.resolve());
    const send = (): void => {
      if (socket.destroyed) return;
      if (socket.write(HINT.repeat(1_000))) setImmediate(send);
      else socket.once('drain', send);
    };
    send();
  };
  await expect(request()).rejects.toBeInstanceOf(TooManyInformational);
  await closed.promise;
});
