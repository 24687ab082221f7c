/**
 * How many connections there may be, in all and of one address, and which of them is closed to make room.
 */
import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { connect as connectSecure } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { descriptorLimit, descriptorLimitIn } from '../../../src/base/descriptors.ts';
import { networkOf } from '../../../src/http/network.ts';
import { OpenSockets, type SocketLimits } from '../../../src/http/open-sockets.ts';
import { RequestTurns } from '../../../src/http/request-turns.ts';
import { connectionsWithin } from '../../../src/listener/http-bounds.ts';
import { until } from '../../support/until.ts';

const TLS = new URL('../../fixtures/tls/', import.meta.url);
const pem = (name: string): Buffer => readFileSync(new URL(name, TLS));

const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0).toReversed()) close();
});

const LIMITS: SocketLimits = {
  connections: 3,
  perAddress: 2,
  unused: 1_000,
  isShared: () => false,
  scarce: () => undefined,
};

class Peer {
  readonly socket: Socket;
  received = '';
  isClosed = false;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding('latin1').on('data', (text: string) => {
      this.received += text;
    });
    socket
      .on('error', () => undefined)
      .on('close', () => {
        this.isClosed = true;
      });
    open.push(() => socket.destroy());
  }

  async get(path: string): Promise<void> {
    const before = this.received;
    this.socket.write(`GET /${path} HTTP/1.1\r\nHost: h\r\n\r\n`);
    await until(() => this.received !== before);
  }
}

/** A server with places for three. */
async function harness(scheme: 'http' | 'https', limits = LIMITS) {
  const isSecure = scheme === 'https';
  const held: ServerResponse[] = [];
  const told: string[] = [];
  const listener = (request: IncomingMessage, response: ServerResponse): void =>
    turns.take(request, response, serve);
  const serve = (request: Pick<IncomingMessage, 'url'>, response: ServerResponse): void => {
    if (request.url === '/hold') {
      held.push(response);
      response.write('<begun>');
    } else response.end('<done>');
  };
  const server: Server = isSecure
    ? (createSecureServer(
        { cert: pem('server.pem'), key: pem('server.key') },
        listener as never,
      ) as never)
    : createServer(listener);
  const scarce = (whose: string, what: string): void => void told.push(`${whose} ${what}`);
  const sockets = new OpenSockets(server, isSecure, { ...limits, scarce });
  const turns = new RequestTurns(server, sockets, isSecure, () => undefined);
  open.push(() => {
    sockets.destroyAll();
    server.close();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  /** Resolves when the server has it. */
  const tcp = async (): Promise<Peer> => {
    const accepted = new Promise((done) => server.once('connection', done));
    const peer = new Peer(connect(port, '127.0.0.1'));
    await accepted;
    return peer;
  };
  const peer = async (): Promise<Peer> => {
    if (!isSecure) return await tcp();
    const accepted = new Promise((done) => server.once('secureConnection', done));
    const secure = new Peer(connectSecure({ port, host: '127.0.0.1', rejectUnauthorized: false }));
    await accepted;
    return secure;
  };
  return { tcp, peer, held, told, sockets };
}

describe.each(['http', 'https'] as const)(
  'when all places of %s connections are taken',
  (scheme) => {
    it('the one that was not used for longest is closed for a new one, none that is used', async () => {
      const { peer, told, sockets } = await harness(scheme);
      const busy = await peer();
      await busy.get('hold');
      const [older, newer] = [await peer(), await peer()];
      const next = await peer();
      await until(() => older.isClosed);
      await next.get('x');
      // It was answered just now, so it is about to be used again.
      const last = await peer();
      await until(() => newer.isClosed);
      expect([busy, next, last].map(({ isClosed }) => isClosed)).toEqual([false, false, false]);
      expect(told).toEqual(['all closed_idle', 'all closed_idle']);
      expect(sockets.size).toBe(3);
    });

    it('and all are used, a new one is closed, and there is room when one has ended', async () => {
      const { peer, tcp, told, sockets, held } = await harness(scheme);
      const busy = [await peer(), await peer(), await peer()];
      for (const one of busy) await one.get('hold');
      const refused = await tcp();
      await until(() => refused.isClosed);
      expect(told).toEqual(['all refused']);
      held[0]?.end();
      busy[0]?.socket.destroy();
      await until(() => sockets.size === 2);
      await (await peer()).get('x');
    });
  },
);

it.each(['http', 'https'] as const)(
  'of too many %s connections on which nothing was asked for, the oldest is closed',
  async (scheme) => {
    const limits = { ...LIMITS, connections: 100, unused: 2 };
    const { peer, told, sockets } = await harness(scheme, limits);
    const used = await peer();
    await used.get('x');
    const [oldest, second, third] = [await peer(), await peer(), await peer()];
    await until(() => oldest.isClosed);
    await second.get('x');
    const last = await peer();
    await last.get('x');
    expect([used, second, third, last].map(({ isClosed }) => isClosed)).not.toContain(true);
    expect(told).toEqual(['unused closed_idle']);
    expect(sockets.size).toBe(4);
  },
);

it('a connection that does not even begin its TLS handshake is closed for a new one', async () => {
  const { peer, tcp, sockets } = await harness('https');
  const [silent] = [await tcp(), await tcp(), await tcp()];
  const next = await peer();
  await until(() => silent.isClosed);
  await next.get('x');
  expect(sockets.size).toBe(3);
});

/** A connection from anywhere. */
class FakeSocket extends EventEmitter {
  readonly remoteAddress: string;
  destroyed = false;

  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.emit('close');
  }
}

describe('one address', () => {
  function connections(limits: Partial<SocketLimits> = {}) {
    const server = new EventEmitter();
    const told: string[] = [];
    const scarce = (whose: string, what: string): void => void told.push(`${whose} ${what}`);
    const all = { ...LIMITS, connections: 100, scarce, ...limits };
    const sockets = new OpenSockets(server as never, false, all);
    const from = (address: string): FakeSocket => {
      const socket = new FakeSocket(address);
      server.emit('connection', socket);
      return socket;
    };
    return { from, told, sockets };
  }

  it('one address has so many, an idle one of its own makes room for another', () => {
    const { from, told, sockets } = connections();
    const other = from('192.0.2.9');
    const [first, second, third] = [1, 2, 3].map(() => from('192.0.2.1'));
    expect([first, second, third, other].map((one) => one?.destroyed)).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(told).toEqual(['address closed_idle']);
    for (const socket of [second, third]) {
      Object.assign(socket ?? {}, { _httpMessage: { answering: true } });
    }
    expect(from('192.0.2.1').destroyed).toBe(true);
    expect(told).toEqual(['address closed_idle', 'address refused']);
    for (const socket of [second, third, other]) socket?.destroy();
    expect(sockets.size).toBe(0);
  });

  it('of version 6 counts together with its network', () => {
    const { from } = connections();
    const [first] = [
      from('2001:db8:1:2::1'),
      from('2001:db8:1:2:a:b:c:d'),
      from('2001:db8:1:2::3'),
    ];
    expect(first.destroyed).toBe(true);
  });

  it.each([
    ['of this machine', '127.0.0.1', {}],
    ['of this machine, in version 6', '::1', {}],
    ['of a proxy', '192.0.2.1', { isShared: (address: string) => address === '192.0.2.1' }],
    ['where there is no limit', '192.0.2.1', { perAddress: 0 }],
  ])('%s has as many as there are', (_, address, limits) => {
    const { from, sockets } = connections(limits);
    for (let count = 0; count < 50; count++) from(address);
    expect(sockets.size).toBe(50);
  });
});

it('networks of addresses', () => {
  const addresses = ['192.0.2.1', '::ffff:192.0.2.1', '2001:db8::1', '::1', 'fe80::1:2:3:4%eth0'];
  expect(addresses.map(networkOf)).toEqual([
    '192.0.2.1',
    '192.0.2.1',
    '2001:db8:0:0::/64',
    '0:0:0:0::/64',
    'fe80:0:0:0::/64',
  ]);
});

it('connections leave room for the other descriptors of the process', () => {
  const limits = [16, 64, 1_024, 20_480, 1_048_576, Number.POSITIVE_INFINITY];
  expect(limits.map(connectionsWithin)).toEqual([
    4,
    16,
    496,
    18_400,
    1_046_496,
    Number.POSITIVE_INFINITY,
  ]);
});

it('the system says how many descriptors there may be', () => {
  expect(
    descriptorLimitIn(
      'Limit   Soft Limit   Hard Limit   Units\nMax open files   64   128   files\n',
    ),
  ).toBe(64);
  expect(descriptorLimitIn('Max open files   unlimited   unlimited   files')).toBe(
    Number.POSITIVE_INFINITY,
  );
  expect(descriptorLimit()).toBeGreaterThan(0);
});
