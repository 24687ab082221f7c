// Floods of HTTP requests and connections. Most of them need no key.
import type { Socket } from 'node:net';
import type { Attack } from './attack.ts';
import { SHARED, type Target } from './target.ts';
import { get, MEBI, many, openSession, post, postHead, pour, write } from './wire.ts';

const UPGRADE = 'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n';
const WRONG_KEY = `Authorization: Bearer sluice_${'x'.repeat(60)}\r\n`;
const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';

/** What somebody without a key asks for. */
function smallGet(target: Target): Buffer {
  return get(target, '/');
}

/** Connections that write the same as fast as it is taken, read what comes, and come back when closed. */
async function pourOnMany(target: Target, count: number, bytes: Buffer): Promise<string> {
  let written = 0;
  await target.begin();
  const connections = await target.repeat(count, async () => {
    const socket = await target.connect();
    socket.resume();
    written += await pour(target, socket, bytes);
    socket.destroy();
  });
  return `${connections} connections wrote ${(written / MEBI).toFixed(0)} MiB`;
}

/** Connections on which something is sent a byte at a time. */
async function drip(target: Target, count: number, start: Buffer, part: string): Promise<string> {
  let refused = 0;
  await target.begin();
  const sockets: Socket[] = [];
  for (let n = 0; n < count && !target.isOver; n += 1) {
    const socket = await target.connect().catch(() => undefined);
    if (socket === undefined) continue;
    socket.resume();
    await write(socket, start);
    sockets.push(socket);
  }
  while (!target.isOver) {
    await target.wait(200);
    for (const socket of sockets) if (socket.writable) socket.write(part);
    if (!target.isOver) refused = sockets.filter(({ destroyed }) => destroyed).length;
  }
  return `${sockets.length} connections, ${refused} of them were closed`;
}

/** Connections that do nothing, as many as there may be. */
async function idle(target: Target, count: number, start?: Buffer): Promise<string> {
  await target.begin();
  const sockets: Socket[] = [];
  let tried = 0;
  // Together, since one after the other they would take the whole time.
  await target.repeat(100, async () => {
    if (tried >= count) return await target.wait(1000);
    tried += 1;
    const socket = await target.connect();
    socket.resume();
    if (start !== undefined) socket.write(start);
    sockets.push(socket);
    return undefined;
  });
  return `${tried} connections were tried, ${sockets.length} of them opened`;
}

/** Something on a connection of its own, again and again. */
async function churn(target: Target, lanes: number, bytes: Buffer | undefined): Promise<string> {
  await target.begin();
  const connections = await target.repeat(lanes, async () => {
    const socket = await target.connect();
    if (bytes !== undefined) {
      const closed = new Promise((resolve) => socket.once('data', resolve).once('close', resolve));
      await write(socket, bytes);
      await closed;
    }
    socket.resetAndDestroy();
  });
  return `${connections} connections`;
}

const PIPELINED: readonly Attack[] = [
  {
    name: 'pipelined-gets-closed',
    about: 'one connection pipelines 8 MB of small GETs, reads nothing, closes; again and again',
    run: async (target) => {
      const one = smallGet(target);
      const gets = Buffer.concat(Array.from({ length: (8 * MEBI) / one.length }, () => one));
      await target.begin();
      const rounds = await target.repeat(1, async () => {
        const socket = await target.connect();
        await Promise.race([write(socket, gets), target.wait(3000)]);
        socket.destroy();
      });
      return `${rounds} connections`;
    },
  },
  {
    name: 'pipelined-gets-open',
    about: 'one connection pipelines 49 MB of small GETs, reads nothing and stays',
    run: async (target) => {
      const gets = many(smallGet(target));
      await target.begin();
      const socket = await target.connect();
      const written = await pour(target, socket, gets, 49 * MEBI);
      await target.wait(60_000);
      return `wrote ${(written / MEBI).toFixed(0)} MiB`;
    },
  },
  {
    name: 'pipelined-gets-read',
    about: '100 connections pipeline small GETs and read the answers',
    run: (target) => pourOnMany(target, 100, many(smallGet(target))),
  },
  {
    name: 'pipelined-behind-stream',
    about: 'small GETs pipelined behind an open event stream, on 10 connections',
    run: async (target) => {
      const headers = await openSession(target, SHARED, 'attacker');
      const accept = `${headers}Accept: text/event-stream\r\n`;
      const stream = get(target, `${SHARED}/mcp`, 'attacker', accept);
      const gets = many(smallGet(target));
      let written = 0;
      await target.begin();
      await target.repeat(10, async () => {
        const socket = await target.connect();
        await write(socket, stream);
        const poured = pour(target, socket, gets, 8 * MEBI).then((bytes) => {
          written += bytes;
        });
        await Promise.race([poured, target.wait(5000)]);
        socket.destroy();
      });
      return `wrote ${(written / MEBI).toFixed(0)} MiB`;
    },
  },
  {
    name: 'pipelined-behind-sse',
    about: 'with auth: none, 8 MB of small GETs behind an open /sse that nobody reads',
    config: { auth: 'none' },
    run: async (target) => {
      const stream = get(target, `${SHARED}/sse`, undefined, 'Accept: text/event-stream\r\n');
      const gets = many(smallGet(target));
      await target.begin();
      const socket = await target.connect();
      await write(socket, stream);
      const written = await pour(target, socket, gets, 8 * MEBI);
      await target.wait(60_000);
      return `wrote ${(written / MEBI).toFixed(0)} MiB`;
    },
  },
  {
    name: 'pipelined-posts',
    about: '20 connections pipeline pings in POSTs and read the answers',
    run: async (target) => {
      const headers = await openSession(target, SHARED, 'attacker');
      const one = post(target, `${SHARED}/mcp`, PING, { key: 'attacker', headers });
      return await pourOnMany(target, 20, many(one));
    },
  },
  {
    name: 'pipelined-posts-unread',
    about: '20 connections pipeline pings in POSTs and read nothing',
    run: async (target) => {
      const headers = await openSession(target, SHARED, 'attacker');
      const one = many(post(target, `${SHARED}/mcp`, PING, { key: 'attacker', headers }));
      await target.begin();
      let written = 0;
      await target.repeat(20, async () => {
        const socket = await target.connect();
        const poured = pour(target, socket, one, 8 * MEBI).then((bytes) => {
          written += bytes;
        });
        await Promise.race([poured, target.wait(5000)]);
        socket.destroy();
      });
      return `wrote ${(written / MEBI).toFixed(0)} MiB`;
    },
  },
  {
    name: 'pipelined-wrong-keys',
    about: '50 connections pipeline requests with a key that nobody has',
    run: (target) =>
      pourOnMany(target, 50, many(get(target, `${SHARED}/mcp`, undefined, WRONG_KEY))),
  },
  {
    name: 'pipelined-big-heads',
    about: '50 connections pipeline GETs with 15 kB of headers',
    run: (target) => {
      const lines = Array.from({ length: 15 }, (_, n) => `X-${n}: ${'x'.repeat(1000)}\r\n`);
      return pourOnMany(target, 50, many(get(target, '/', undefined, lines.join(''))));
    },
  },
  {
    name: 'pipelined-many-headers',
    about: '50 connections pipeline GETs with 1,900 empty headers',
    run: (target) => {
      const lines = Array.from({ length: 1900 }, (_, n) => `${n.toString(36)}:\r\n`);
      return pourOnMany(target, 50, many(get(target, '/', undefined, lines.join(''))));
    },
  },
  {
    name: 'pipelined-continues',
    about: '50 connections pipeline POSTs that expect 100-continue and send no body',
    run: (target) => {
      const head = postHead(target, `${SHARED}/mcp`, {
        key: 'attacker',
        headers: 'Expect: 100-continue\r\n',
        length: 0,
      });
      return pourOnMany(target, 50, many(head));
    },
  },
  {
    name: 'pipelined-preflights',
    about: '50 connections pipeline OPTIONS requests of a web page',
    run: (target) => {
      const lines = `Origin: http://127.0.0.1:${target.port}\r\nAccess-Control-Request-Method: POST\r\n`;
      const request = `OPTIONS /mcp HTTP/1.1\r\n${target.headers()}${lines}\r\n`;
      return pourOnMany(target, 50, many(request));
    },
  },
];

const SLOW: readonly Attack[] = [
  {
    name: 'slow-heads',
    about: '1,000 connections send the head of a request a byte at a time',
    run: (target) => drip(target, 1000, Buffer.from('GET / HTTP/1.1\r\nX-Slow: '), 'x'),
  },
  {
    name: 'slow-bodies',
    about: '300 POSTs of 3.9 MB arrive a byte at a time',
    run: async (target) => {
      const headers = await openSession(target, SHARED, 'attacker');
      const head = postHead(target, `${SHARED}/mcp`, {
        key: 'attacker',
        headers,
        length: 3_900_000,
      });
      return await drip(target, 300, Buffer.from(head), ' ');
    },
  },
  {
    name: 'tiny-chunks',
    about: '20 connections POST bodies in chunks of one byte',
    run: async (target) => {
      const headers = await openSession(target, SHARED, 'attacker');
      const head = postHead(target, `${SHARED}/mcp`, { key: 'attacker', headers });
      const chunks = many('1\r\n \r\n');
      let written = 0;
      await target.begin();
      const bodies = await target.repeat(20, async () => {
        const socket = await target.connect();
        socket.resume();
        await write(socket, head);
        written += await pour(target, socket, chunks, 24 * MEBI);
        socket.destroy();
      });
      return `${bodies} bodies, ${(written / MEBI).toFixed(0)} MiB`;
    },
  },
];

const CONNECTIONS: readonly Attack[] = [
  {
    name: 'connections-churn',
    about: '50 sides connect, ask for one thing and reset the connection',
    run: (target) => churn(target, 50, smallGet(target)),
  },
  {
    name: 'connections-reset',
    about: '50 sides connect and reset the connection at once',
    run: (target) => churn(target, 50, undefined),
  },
  {
    name: 'connections-garbage',
    about: '50 sides connect and send what is no HTTP',
    run: (target) => churn(target, 50, Buffer.from('\x16\x03\x01garbage\r\n\r\n')),
  },
  {
    name: 'upgrades-refused',
    about: '50 sides ask for a WebSocket without a key',
    run: (target) => churn(target, 50, get(target, `${SHARED}/ws`, undefined, UPGRADE)),
  },
  {
    name: 'upgrades-unknown',
    about: '50 sides ask for HTTP/2 in clear text',
    run: (target) =>
      churn(target, 50, get(target, '/', undefined, 'Upgrade: h2c\r\nConnection: Upgrade\r\n')),
  },
  {
    name: 'idle-connections',
    about: '20,400 connections that do nothing',
    processes: 2,
    run: (target) => idle(target, 10_200),
  },
  {
    name: 'idle-connections-kept',
    about: '20,400 connections that made one request and are kept',
    processes: 2,
    run: (target) => idle(target, 10_200, smallGet(target)),
  },
  {
    name: 'unfinished-closed',
    about: '15,000 connections with half a request that are closed all at once, again and again',
    run: async (target) => {
      const half = Buffer.from(`GET / HTTP/1.1\r\n${target.headers()}X-Half: `);
      await target.begin();
      let closed = 0;
      await target.repeat(1, async () => {
        const sockets: Socket[] = [];
        const open = async (): Promise<void> => {
          while (!target.isOver && sockets.length < 15_000) {
            const socket = await target.connect().catch(() => undefined);
            if (socket === undefined) continue;
            sockets.push(socket);
            socket.write(half);
          }
        };
        await Promise.all(Array.from({ length: 100 }, open));
        for (const socket of sockets) socket.destroy();
        closed += sockets.length;
      });
      return `${closed} connections`;
    },
  },
  {
    name: 'unfinished-heads',
    about: '4,000 heads of 990 short headers without an end, from somebody without a key',
    run: async (target) => {
      const headers = 'ab:bc\r\n'.repeat(990);
      const half = Buffer.from(`GET / HTTP/1.1\r\n${target.headers()}${headers}`);
      await target.begin();
      let sent = 0;
      await target.repeat(40, async () => {
        if (target.connections >= 4_000) return;
        const socket = await target.connect();
        await write(socket, half);
        sent += 1;
      });
      return `${sent} heads`;
    },
  },
  {
    name: 'few-descriptors',
    about: '100 idle connections to a gateway that may have 128 descriptors',
    openFiles: 128,
    run: (target) => idle(target, 100),
  },
];

export const HTTP_FLOODS: readonly Attack[] = [...PIPELINED, ...SLOW, ...CONNECTIONS];
