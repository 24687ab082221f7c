// Floods of HTTP requests and connections: most of them need no key.
import type { Attack } from './attack.ts';
import { SHARED, type Target } from './target.ts';
import { get, MEBI, many, openSession, post, pour, write } from './wire.ts';

/** What one connection of somebody without a key pipelines. */
function smallGets(target: Target, bytes: number): Buffer {
  const one = Buffer.from(`GET / HTTP/1.1\r\nHost: 127.0.0.1:${target.port}\r\n\r\n`);
  return Buffer.concat(Array.from({ length: Math.floor(bytes / one.length) }, () => one));
}

/** `count` connections that write the same as fast as it is taken, and read what comes. */
async function pourOnMany(target: Target, count: number, bytes: Buffer): Promise<number> {
  let written = 0;
  await target.repeat(count, async () => {
    const socket = await target.connect();
    socket.resume();
    written += await pour(target, socket, bytes);
    socket.destroy();
  });
  return written / MEBI;
}

const wrote = (mebi: number): string => `wrote ${mebi.toFixed(0)} MiB`;

export const HTTP_FLOODS: readonly Attack[] = [
  {
    name: 'pipelined-gets-closed',
    about: 'one connection pipelines 8 MB of small GETs, reads nothing, closes; again and again',
    run: async (target) => {
      const gets = smallGets(target, 8 * MEBI);
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
    name: 'pipelined-gets-read',
    about: '100 connections pipeline small GETs and read the answers',
    run: async (target) => {
      const gets = many(smallGets(target, 65_536));
      await target.begin();
      return wrote(await pourOnMany(target, 100, gets));
    },
  },
  {
    name: 'pipelined-behind-stream',
    about: 'small GETs pipelined behind an open event stream, on 10 connections',
    run: async (target) => {
      const headers = await openSession(target, SHARED, 'attacker');
      const stream = get(
        target,
        `${SHARED}/mcp`,
        'attacker',
        `${headers}Accept: text/event-stream\r\n`,
      );
      const gets = many(smallGets(target, 65_536));
      let written = 0;
      await target.begin();
      await target.repeat(10, async () => {
        const socket = await target.connect();
        await write(socket, stream);
        written += await Promise.race([
          pour(target, socket, gets, 8 * MEBI),
          target.wait(5000).then(() => 0),
        ]);
        socket.destroy();
      });
      return wrote(written / MEBI);
    },
  },
  {
    name: 'pipelined-posts',
    about: '20 connections pipeline pings in POSTs and read the answers',
    run: async (target) => {
      const headers = await openSession(target, SHARED, 'attacker');
      const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
      const posts = many(post(target, `${SHARED}/mcp`, body, { key: 'attacker', headers }));
      await target.begin();
      return wrote(await pourOnMany(target, 20, posts));
    },
  },
];
