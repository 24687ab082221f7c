/**
 * What WebSockets send is worked off in turns of the event loop: so much of one connection, so much of one
 * principal; whoever is not to be read now is not, and what is too large is closed with the reason.
 */
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { Drain } from '../../../src/base/drain.ts';
import { HeldBytes } from '../../../src/base/held-bytes.ts';
import { onNextTurn } from '../../../src/base/turns.ts';
import { addressQuota, PrincipalTurns } from '../../../src/http/client-turns.ts';
import { WebSocketConnection } from '../../../src/listener/websocket/connection.ts';
import { until } from '../../support/until.ts';

const MAX_BYTES = 1024 * 1024;
const held = new HeldBytes({ limitBytes: 64 * MAX_BYTES, shareBytes: 16 * MAX_BYTES });
const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0).toReversed()) close();
});

class Rig {
  readonly taken: string[] = [];
  readonly connections: WebSocketConnection[] = [];
  /** Messages taken in one turn, at most. */
  most = 0;
  mayTake = (_text: string, _connection: WebSocketConnection): boolean => true;
  readonly #principals = new PrincipalTurns();
  /** How many different principals the connections are of. */
  readonly #count: number;
  readonly #server = createServer();
  #inTurn = 0;
  #isCounting = false;

  constructor(principals = 1) {
    this.#count = principals;
  }

  async listen(): Promise<void> {
    const sockets = new WebSocketServer({
      noServer: true,
      autoPong: false,
      maxPayload: MAX_BYTES,
      perMessageDeflate: false,
    });
    this.#server.on('upgrade', (request, socket, head) =>
      sockets.handleUpgrade(request, socket, head, (opened) =>
        this.#open(opened, socket as Socket),
      ),
    );
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    open.push(() => this.#server.close());
  }

  async connect(): Promise<WebSocket> {
    const { port } = this.#server.address() as AddressInfo;
    const client = new WebSocket(`ws://127.0.0.1:${port}`);
    client.on('error', () => undefined);
    open.push(() => client.terminate());
    await new Promise((done) => client.once('open', done));
    return client;
  }

  #open(opened: WebSocket, tcp: Socket): void {
    const key = `p${this.connections.length % this.#count}`;
    const connection = new WebSocketConnection(opened, tcp, {
      owner: () => held.client({ key, kind: 'key' }),
      turns: this.#principals.of({ key, kind: 'key' }) ?? addressQuota(),
      maxBytes: MAX_BYTES,
      drain: new Drain(),
      slow: () => undefined,
      refused: () => undefined,
    });
    this.connections.push(connection);
    const receive = (bytes: Buffer): boolean => this.#receive(bytes.toString('utf8'), connection);
    connection.serve({ receive, close: () => undefined }, () => undefined);
  }

  #receive(text: string, connection: WebSocketConnection): boolean {
    this.most = Math.max(this.most, ++this.#inTurn);
    if (!this.#isCounting) {
      this.#isCounting = true;
      onNextTurn(() => {
        this.#isCounting = false;
        this.#inTurn = 0;
      });
    }
    if (!this.mayTake(text, connection)) return false;
    this.taken.push(text);
    return true;
  }
}

const range = (count: number): string[] => Array.from({ length: count }, (_, at) => `m${at}`);

/** Sends all of them in as few pieces as the system makes of them. */
function burst(client: WebSocket, texts: readonly string[]): void {
  const { _socket: tcp } = client as unknown as { readonly _socket: Socket };
  tcp.cork();
  for (const text of texts) client.send(text);
  tcp.uncork();
}

describe('messages that come all at once', () => {
  it('on one connection are taken in order, so many in a turn', async () => {
    const harness = new Rig();
    await harness.listen();
    burst(await harness.connect(), range(3_000));
    await until(() => harness.taken.length === 3_000);
    expect(harness.taken).toEqual(range(3_000));
    expect(harness.most).toBeLessThanOrEqual(16);
  });

  it.each([
    ['one principal', 1, 32],
    ['many principals', 20, 64],
  ])('on all connections of %s are taken so many in a turn', async (_, principals, most) => {
    const harness = new Rig(principals);
    await harness.listen();
    const clients = await Promise.all(range(20).map(() => harness.connect()));
    for (const client of clients) burst(client, range(300));
    await until(() => harness.taken.length === 6_000);
    expect(harness.most).toBeLessThanOrEqual(most);
  });

  it('wait in order while the one before may not be taken, and nothing is lost', async () => {
    const harness = new Rig();
    await harness.listen();
    let isRefused = false;
    harness.mayTake = (text, connection) => {
      if (text !== 'm5' || isRefused) return true;
      isRefused = true;
      connection.rest(0);
      return false;
    };
    burst(await harness.connect(), range(100));
    await until(() => isRefused);
    expect(harness.taken).toEqual(range(5));
    await until(() => harness.taken.length === 100);
    expect(harness.taken).toEqual(range(100));
  });

  it('are not read while the connection is held, however often', async () => {
    const harness = new Rig();
    await harness.listen();
    const client = await harness.connect();
    const [connection] = harness.connections;
    connection?.hold(true);
    connection?.hold(true);
    burst(client, range(50));
    const beside = await harness.connect();
    beside.send('beside');
    await until(() => harness.taken.length === 1);
    connection?.hold(false);
    beside.send('beside');
    await until(() => harness.taken.length === 2);
    connection?.hold(false);
    await until(() => harness.taken.length === 52);
    expect(harness.taken).toEqual(['beside', 'beside', ...range(50)]);
  });

  it('or in pieces of any size are what they were', async () => {
    const harness = new Rig();
    await harness.listen();
    const texts = [1, 4_095, 4_097, 20_000, 700_000, 3].map((size) => 'x'.repeat(size));
    burst(await harness.connect(), texts);
    await until(() => harness.taken.length === texts.length);
    expect(harness.taken.map(({ length }) => length)).toEqual(texts.map(({ length }) => length));
  });
});

it('of many pings at once the latest is answered, and the connection stays', async () => {
  const harness = new Rig();
  await harness.listen();
  const client = await harness.connect();
  const pongs: string[] = [];
  client.on('pong', (payload: Buffer) => pongs.push(payload.toString('utf8')));
  const { _socket: tcp } = client as unknown as { readonly _socket: Socket };
  tcp.cork();
  for (const payload of range(5_000)) client.ping(payload);
  tcp.uncork();
  await until(() => pongs.at(-1) === 'm4999');
  expect(pongs.length).toBeLessThan(1_000);
  client.send('still here');
  await until(() => harness.taken.length === 1);
});

it('a message that is too large is always closed with 1009', async () => {
  const harness = new Rig();
  await harness.listen();
  const codes: number[] = [];
  for (let count = 0; count < 10; count++) {
    const client = await harness.connect();
    const closed = new Promise<number>((done) => client.once('close', done));
    client.send('x'.repeat(20 * MAX_BYTES));
    codes.push(await closed);
  }
  expect(codes).toEqual(Array.from({ length: 10 }, () => 1009));
  expect(harness.taken).toEqual([]);
}, 60_000);
