/**
 * When requests are worked on: behind those ahead of them on their connection, of which few are looked at,
 * and within what their client, and all clients, may ask for in a turn of the event loop.
 */
import { readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { connect as connectSecure } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { HeldBytes, UNBOUNDED } from '../../../src/base/held-bytes.ts';
import { onNextTurn } from '../../../src/base/turns.ts';
import { PrincipalTurns } from '../../../src/http/client-turns.ts';
import { OpenSockets, type SocketLimits } from '../../../src/http/open-sockets.ts';
import { RequestTurns } from '../../../src/http/request-turns.ts';
import { until } from '../../support/until.ts';

const TLS = new URL('../../fixtures/tls/', import.meta.url);
const pem = (name: string): Buffer => readFileSync(new URL(name, TLS));

const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0).toReversed()) close();
});

const NO_LIMITS: SocketLimits = {
  connections: 1_000,
  perAddress: 0,
  unused: 1_000,
  isShared: () => false,
  scarce: () => undefined,
};

/** Requests of all clients that may be served in a turn. */
const MOST_IN_TURN = 17;

type Scheme = 'http' | 'https';

/** A server whose requests are served by `serve`. */
class Harness {
  readonly #server: Server;
  readonly #isSecure: boolean;
  readonly sockets: OpenSockets;
  /** Requests that Node has read and that are not answered, now and at most. */
  unanswered = 0;
  most = 0;
  readonly accepted: Socket[] = [];
  /** Heads of requests that Node has read. */
  read = 0;
  onRead: (request: IncomingMessage) => void = () => undefined;
  readonly upgrades: Socket[] = [];
  readonly turns: RequestTurns;

  constructor(serve: RequestListener, scheme: Scheme = 'http', held = UNBOUNDED) {
    const listener = (request: IncomingMessage, response: ServerResponse): void => {
      this.read++;
      this.onRead(request);
      this.most = Math.max(this.most, ++this.unanswered);
      response.once('close', () => this.unanswered--);
      turns.take(request, response, serve);
    };
    this.#isSecure = scheme === 'https';
    this.#server = this.#isSecure
      ? (createSecureServer({ cert: pem('server.pem'), key: pem('server.key') }, listener) as never)
      : createServer(listener);
    this.#server.on('connection', (socket: Socket) => this.accepted.push(socket));
    this.sockets = new OpenSockets(this.#server, this.#isSecure, NO_LIMITS);
    const turns: RequestTurns = new RequestTurns(
      this.#server,
      this.sockets,
      this.#isSecure,
      (_, socket) => {
        this.upgrades.push(socket as Socket);
        socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n');
      },
      held,
    );
    this.turns = turns;
    open.push(() => {
      this.sockets.destroyAll();
      this.#server.close();
    });
  }

  async listen(): Promise<void> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
  }

  connect(localAddress = '127.0.0.1'): Client {
    const { port } = this.#server.address() as AddressInfo;
    const to = { port, host: '127.0.0.1', localAddress };
    return new Client(
      this.#isSecure ? connectSecure({ ...to, rejectUnauthorized: false }) : connect(to),
    );
  }
}

class Client {
  readonly socket: Socket;
  received = '';

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => undefined);
    socket.setEncoding('latin1').on('data', (text: string) => {
      this.received += text;
    });
    open.push(() => socket.destroy());
  }

  /** The bodies of the answers that have come. */
  get answers(): string[] {
    return [...this.received.matchAll(/<([^>]*)>/g)].map(([, body]) => body ?? '');
  }
}

const get = (path: string): string => `GET /${path} HTTP/1.1\r\nHost: h\r\n\r\n`;
const range = (count: number): string[] => Array.from({ length: count }, (_, at) => String(at));

const echo: RequestListener = (request, response) => {
  let body = '';
  request.on('data', (chunk: Buffer) => {
    body += chunk.toString('latin1');
  });
  request.on('end', () => response.end(`<${request.url?.slice(1)}${body}>`));
};

describe.each<Scheme>(['http', 'https'])('one %s connection that sends on and on', (scheme) => {
  it('has nine requests read at a time; all are answered in order', async () => {
    const harness = new Harness(echo, scheme);
    await harness.listen();
    const client = harness.connect();
    client.socket.write(range(3_000).map(get).join(''));
    await until(() => client.answers.length === 3_000);
    expect(client.answers).toEqual(range(3_000));
    expect(harness.most).toBe(9);
  });

  it('has its bodies read whole, however they are sent', async () => {
    const harness = new Harness(echo, scheme);
    await harness.listen();
    const client = harness.connect();
    const post = (path: string, at: number): string => {
      const body = `-${'b'.repeat(at * 7)}`;
      const head = `POST /${path} HTTP/1.1\r\nHost: h\r\n`;
      return at % 2 === 0
        ? `${head}Content-Length: ${body.length}\r\n\r\n${body}`
        : `${head}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    };
    client.socket.write(range(100).map(post).join(''));
    await until(() => client.answers.length === 100);
    expect(client.answers).toEqual(range(100).map((path, at) => `${path}-${'b'.repeat(at * 7)}`));
    expect(harness.most).toBeLessThanOrEqual(9);
  });

  it('is served as usual afterwards, and others are meanwhile', async () => {
    const held: ServerResponse[] = [];
    const harness = new Harness((request, response) => {
      if (request.url === '/hold') held.push(response);
      else echo(request, response);
    }, scheme);
    await harness.listen();
    const [client, beside] = [harness.connect(), harness.connect()];
    client.socket.write(get('hold') + range(40).map(get).join(''));
    await until(() => held.length === 1);
    beside.socket.write(get('beside'));
    await until(() => beside.answers.length === 1);
    expect([harness.read, client.answers]).toEqual([10, []]);
    held[0]?.end('<hold>');
    await until(() => client.answers.length === 41);
    client.socket.write(get('later'));
    await until(() => client.answers.length === 42);
    expect(client.answers).toEqual(['hold', ...range(40), 'later']);
  });

  it('is noticed when it goes, and nothing more is done for it', async () => {
    const served: string[] = [];
    let isClosed = false;
    const harness = new Harness((request, response) => {
      served.push(request.url ?? '');
      response.once('close', () => {
        isClosed = true;
      });
      response.write('<begun>');
    }, scheme);
    await harness.listen();
    const client = harness.connect();
    client.socket.write(range(100).map(get).join(''));
    await until(() => client.answers.length === 1);
    client.socket.end();
    await until(() => isClosed);
    expect(served).toEqual(['/0']);
    expect(harness.read).toBeLessThanOrEqual(9);
  });

  it('gets an upgrade when everything before it is answered', async () => {
    const held: ServerResponse[] = [];
    const harness = new Harness((_, response) => held.push(response), scheme);
    await harness.listen();
    const client = harness.connect();
    const upgrade =
      'GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    client.socket.write(`${get('a')}${get('b')}${upgrade}`);
    await until(() => held.length === 1);
    held[0]?.end('<a>');
    await until(() => held.length === 2);
    expect(harness.upgrades).toEqual([]);
    held[1]?.end('<b>');
    await until(() => client.received.includes(' 101 '));
    expect(client.received).toMatch(/<a>[\s\S]*<b>[\s\S]* 101 /);
  });
});

it('a connection that asked for too much is read on only after a while', async () => {
  const happened: string[] = [];
  const harness: Harness = new Harness((request, response) => {
    happened.push(request.url ?? '');
    if (request.url === '/over') {
      const { socket } = request;
      socket.once('pause', () => happened.push('pause'));
      socket.once('resume', () => happened.push('resume'));
      harness.turns.rest(request, response);
    }
    response.end('<x>');
  });
  await harness.listen();
  const client = harness.connect();
  client.socket.write(get('over'));
  await until(() => client.answers.length === 1);
  client.socket.write(get('next'));
  await until(() => client.answers.length === 2);
  expect(happened).toEqual(['/over', 'pause', 'resume', '/next']);
});

it('of a connection that asked for too much hardly more is taken in while it rests', async () => {
  const harness: Harness = new Harness((request, response) => {
    harness.turns.rest(request, response);
    response.end('<x>');
  });
  await harness.listen();
  const client = harness.connect();
  client.socket.write(get('over').repeat(100_000));
  await until(() => client.answers.length >= 27);
  const [taken] = harness.accepted.map(({ bytesRead }) => bytesRead);
  // Three times a read buffer would do: it is read on three times.
  expect(taken).toBeLessThan(5 * 64 * 1024);
});

it('what waits behind requests is held for its client, who is closed out beyond its share', async () => {
  const share = 512 * 1024;
  const held = new HeldBytes({ limitBytes: 4 * share, shareBytes: share });
  const harness = new Harness(() => undefined, 'http', held);
  await harness.listen();
  const clients = range(40).map(() => harness.connect());
  for (const { socket } of clients) socket.write(get('x').repeat(3_000));
  await until(() => clients.some(({ socket }) => socket.destroyed));
  expect(held.byKind.body).toBeGreaterThan(share / 2);
  expect(held.byKind.body).toBeLessThanOrEqual(share);
  expect(clients.every(({ socket }) => socket.destroyed)).toBe(false);
  await until(() => harness.accepted.length === 40);
  await until(() => {
    harness.sockets.destroyAll();
    return held.byKind.body === 0;
  });
});

/** Counts what is served in one turn of the event loop. */
class PerTurn {
  most = 0;
  #inTurn = 0;
  #isEndScheduled = false;

  count(): void {
    this.most = Math.max(this.most, ++this.#inTurn);
    if (this.#isEndScheduled) return;
    this.#isEndScheduled = true;
    onNextTurn(() => {
      this.#isEndScheduled = false;
      this.#inTurn = 0;
    });
  }
}

/** Connections of several addresses, which were served once. */
async function opened(harness: Harness, count: number, addresses: number): Promise<Client[]> {
  const clients = range(count).map((_, at) => harness.connect(`127.0.0.${1 + (at % addresses)}`));
  for (const { socket } of clients) socket.write(get('first'));
  await until(() => clients.every(({ answers }) => answers.length === 1));
  return clients;
}

it.each([1, 5])(
  'all connections from %i addresses are served so many requests in a turn',
  async (addresses) => {
    const perTurn = new PerTurn();
    const harness = new Harness((request, response) => {
      perTurn.count();
      response.end(`<${request.url?.slice(1)}>`);
    });
    await harness.listen();
    const clients = await opened(harness, 300, addresses);
    perTurn.most = 0;
    for (const { socket } of clients) socket.write(range(5).map(get).join(''));
    await until(() => clients.every(({ answers }) => answers.length === 6));
    for (const { answers } of clients) expect(answers).toEqual(['first', ...range(5)]);
    expect(perTurn.most).toBeLessThanOrEqual(MOST_IN_TURN);
  },
);

/** A body of one byte a chunk, as much as fits one read of a connection. */
const CHUNKS_OF_A_READ = 10_000;
const tinyChunks = '1\r\nx\r\n'.repeat(CHUNKS_OF_A_READ);
const inChunks = 'POST /chunks HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n';

/** Counts the parts of bodies that are read in one turn. */
function countingParts(perTurn: PerTurn): RequestListener {
  return (request, response) => {
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      perTurn.count();
      length += chunk.length;
    });
    request.on('end', () => response.end(`<${length}>`));
  };
}

it.each([1, 4])(
  'of bodies in tiny chunks of %i reads one read is worked off in a turn',
  async (reads) => {
    const perTurn = new PerTurn();
    const harness = new Harness(countingParts(perTurn));
    await harness.listen();
    const clients = await openedWithoutRequest(harness, 10);
    const body = `${tinyChunks.repeat(reads)}0\r\n\r\n`;
    for (const { socket } of clients) socket.write(`${inChunks}${body}`);
    await until(() => clients.every(({ answers }) => answers.length === 1));
    for (const { answers } of clients) expect(answers).toEqual([String(reads * CHUNKS_OF_A_READ)]);
    // Of the connection that was given back last another part may have been read already.
    expect(perTurn.most).toBeLessThan(2.5 * CHUNKS_OF_A_READ);
  },
);

it('of the large bodies of one client so many parts are read in a turn', async () => {
  const perTurn = new PerTurn();
  const harness = new Harness(countingParts(perTurn));
  await harness.listen();
  const clients = await openedWithoutRequest(harness, 60);
  const bytes = 1_000_000;
  const head = `POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ${bytes}\r\n\r\n`;
  for (const { socket } of clients) socket.write(head);
  await until(() => harness.read === 60);
  perTurn.most = 0;
  for (const { socket } of clients) socket.write('x'.repeat(bytes));
  await until(() => clients.every(({ answers }) => answers.length === 1));
  for (const { answers } of clients) expect(answers).toEqual([String(bytes)]);
  // The first part of each is read before anything is known of it.
  expect(perTurn.most).toBeLessThanOrEqual(60 + MOST_IN_TURN);
});

async function openedWithoutRequest(harness: Harness, count: number): Promise<Client[]> {
  const clients = range(count).map(() => harness.connect());
  await until(() => harness.accepted.length === count);
  return clients;
}

it('a client that is known is served between strangers, however many connections they have', async () => {
  const quota = new PrincipalTurns().of({ key: 'somebody', kind: 'key' });
  let strangers = 0;
  let whenRead = 0;
  const between: number[] = [];
  const harness = new Harness((request, response) => {
    if (request.url === '/known') {
      harness.turns.assign(request, quota);
      between.push(strangers - whenRead);
    } else strangers++;
    response.end(`<${request.url?.slice(1)}>`);
  });
  harness.onRead = ({ url }) => {
    if (url === '/known') whenRead = strangers;
  };
  await harness.listen();
  const [known] = await opened(harness, 1, 1);
  known?.socket.write(get('known'));
  await until(() => between.length === 1);
  const clients = await opened(harness, 200, 1);
  for (const { socket } of clients) socket.write(range(50).map(get).join(''));
  for (let asked = 2; asked < 12; asked++) {
    const before = strangers;
    await until(() => strangers > before);
    known?.socket.write(get('known'));
    await until(() => between.length === asked);
  }
  await until(() => clients.every(({ answers }) => answers.length === 51));
  expect(Math.max(...between)).toBeLessThanOrEqual(MOST_IN_TURN);
});

/** How many more of something there are after a turn than before it, at most, until there are `count`. */
async function mostInTurn(count: number, total: () => number): Promise<number> {
  let most = 0;
  for (let before = total(); before < count; ) {
    await new Promise<void>((resolve) => onNextTurn(resolve));
    const now = total();
    most = Math.max(most, now - before);
    before = now;
  }
  return most;
}

it('idle connections that end at once are ended over several turns', async () => {
  const harness = new Harness(echo);
  await harness.listen();
  const clients = await opened(harness, 400, 1);
  for (const { socket } of clients) socket.end();
  const open = harness.accepted.slice();
  const ended = (): number => open.filter(({ writableEnded }) => writableEnded).length;
  expect(await mostInTurn(clients.length, ended)).toBeLessThanOrEqual(128);
  await until(() => harness.sockets.size === 0);
});

it('connections that end within a request are closed over several turns, without an answer', async () => {
  const harness = new Harness(echo);
  await harness.listen();
  const clients = range(500).map(() => harness.connect());
  for (const { socket } of clients) socket.write('GET / HTTP/1.1\r\nX-Half: ');
  await until(() => harness.sockets.size === clients.length);
  for (const { socket } of clients) socket.end();
  const closed = (): number => clients.length - harness.sockets.size;
  expect(await mostInTurn(clients.length, closed)).toBeLessThanOrEqual(128);
  expect(clients.map(({ received }) => received).join('')).toBe('');
});

it.each<Scheme>(['http', 'https'])(
  'bodies of %s requests are not held as heads',
  async (scheme) => {
    const held = new HeldBytes({ limitBytes: 64 * 1024 * 1024, shareBytes: 16 * 1024 * 1024 });
    const harness = new Harness(countingParts(new PerTurn()), scheme, held);
    await harness.listen();
    const client = harness.connect();
    for (const [at, bytes] of [10, 300_000, 1_000_000].entries()) {
      client.socket.write(`POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ${bytes}\r\n\r\n`);
      await until(() => harness.read === at + 1);
      client.socket.write('x'.repeat(bytes));
      await until(() => client.answers.length === at + 1);
      expect(held.byKind.body).toBe(0);
    }
  },
);

it('a connection whose heads come in parts has one listener more, however many they are', async () => {
  const held = new HeldBytes({ limitBytes: 64 * 1024 * 1024, shareBytes: 16 * 1024 * 1024 });
  const harness = new Harness(echo, 'http', held);
  await harness.listen();
  const client = harness.connect();
  const listeners: number[] = [];
  for (let at = 1; at <= 5; at++) {
    client.socket.write('GET /x HTTP/1.1\r\n');
    await until(() => held.byKind.body > 0);
    client.socket.write('Host: h\r\n\r\n');
    await until(() => client.answers.length === at);
    expect(held.byKind.body).toBe(0);
    listeners.push(harness.accepted[0]?.listenerCount('close') ?? 0);
  }
  expect(listeners.at(-1)).toBe(listeners[0]);
});

/** A head of 990 headers, which is not whole. */
const unfinishedHead = `GET /x HTTP/1.1\r\nHost: h\r\n${'ab:bc\r\n'.repeat(990)}`;

it.each<Scheme>(['http', 'https'])(
  'unfinished heads of %s requests are held for their client, who is closed out beyond its share',
  async (scheme) => {
    const share = 1024 * 1024;
    const held = new HeldBytes({ limitBytes: 4 * share, shareBytes: share });
    const harness = new Harness(echo, scheme, held);
    await harness.listen();
    const clients = range(40).map(() => harness.connect());
    for (const { socket } of clients) socket.write(unfinishedHead);
    await until(() => clients.some(({ socket }) => socket.destroyed));
    await until(() => harness.accepted.length === clients.length);
    expect(held.byKind.body).toBeLessThanOrEqual(share);
    const [left] = clients.filter(({ socket }) => !socket.destroyed);
    left?.socket.write('\r\n');
    await until(() => left?.answers.length === 1);
    for (const { socket } of clients) if (socket !== left?.socket) socket.destroy();
    await until(() => harness.sockets.size === 1);
    expect(held.byKind.body).toBe(0);
    left?.socket.write(get('y') + get('z'));
    await until(() => left?.answers.length === 3);
    expect(held.byKind.body).toBe(0);
  },
);
