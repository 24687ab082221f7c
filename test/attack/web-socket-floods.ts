// Floods of WebSocket frames, by somebody with a key.
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Attack } from './attack.ts';
import { server } from './servers.ts';
import { SHARED, type Target } from './target.ts';
import {
  frame,
  helloFrame,
  MEBI,
  many,
  message,
  openWebSocket,
  openWebSockets,
  pour,
  write,
} from './wire.ts';

/** The limit holds for the victim too: what it sends is far below, and what attackers send far above. */
const LIMITED = { limits: { requestsPerSecond: 2000 } };
const MOST_SOCKETS = 90;
/** The gateway cuts a WebSocket that owes more pongs than this. */
const PINGS_AT_ONCE = 50;
const LARGE = 4 * MEBI - 1024;

interface Options {
  readonly path?: string;
  /** Whether they say `initialize` first. */
  readonly isPolite?: boolean;
  readonly reads?: boolean;
  readonly sockets?: number;
}

/** Does something on many sockets at once; one that is cut is opened again. */
async function onSockets(
  target: Target,
  act: (socket: Socket) => Promise<number>,
  { path = SHARED, isPolite = true, reads = true, sockets = MOST_SOCKETS }: Options = {},
): Promise<string> {
  const first = await openWebSockets(target, path, sockets);
  let bytes = 0;
  let opened = first.length;
  await target.begin();
  await target.repeat(first.length, async (lane) => {
    let socket = first[lane];
    if (socket === undefined || socket.destroyed) {
      socket = await openWebSocket(target, path, 'attacker');
      opened += 1;
    }
    if (reads) socket.resume();
    if (isPolite) await write(socket, helloFrame());
    bytes += await act(socket);
    socket.destroy();
  });
  return `${opened} sockets wrote ${(bytes / MEBI).toFixed(1)} MiB`;
}

/** All write the same as fast as it is taken. */
function pourFrames(target: Target, frames: Buffer, options?: Options): Promise<string> {
  return onSockets(target, (socket) => pour(target, socket, frames), options);
}

/** Writes something, then stays until the time is over or the socket is cut. */
function writeAndStay(target: Target, bytes: Buffer, options: Options): Promise<string> {
  const act = async (socket: Socket): Promise<number> => {
    await write(socket, bytes);
    while (!target.isOver && !socket.destroyed) await target.wait(100);
    return bytes.length;
  };
  return onSockets(target, act, options);
}

/** Writes the next pings when something came back. */
async function pingPong(target: Target, socket: Socket): Promise<number> {
  const pings = Buffer.concat(Array.from({ length: PINGS_AT_ONCE }, () => frame('ping')));
  let bytes = 0;
  while (!target.isOver && !socket.destroyed) {
    await write(socket, pings);
    bytes += pings.length;
    await Promise.race([once(socket, 'data'), once(socket, 'close')]);
  }
  return bytes;
}

/** A call with so many bytes of arguments. */
function callOf(bytes: number): string {
  const params = { name: 'echo', arguments: { text: 'x'.repeat(bytes) } };
  return message('tools/call', params, 1);
}

const PING = message('ping', undefined, 1);
const CANCELLED = message('notifications/cancelled', { requestId: 'nothing' });

/** Calls, each cancelled at once. */
function cancelledCalls(count: number): Buffer {
  const frames = Array.from({ length: count }, (_, id) => [
    frame('text', message('tools/call', { name: 'echo', arguments: {} }, id)),
    frame('text', message('notifications/cancelled', { requestId: id })),
  ]);
  return Buffer.concat(frames.flat());
}

export const WEB_SOCKET_FLOODS: readonly Attack[] = [
  {
    name: 'ws-pings',
    about: '90 WebSockets ping as fast as pongs come back',
    run: (target) => onSockets(target, (socket) => pingPong(target, socket)),
  },
  {
    name: 'ws-pings-unbounded',
    about: '90 WebSockets ping as fast as they can, and come back when they are cut',
    run: (target) => pourFrames(target, many(frame('ping'))),
  },
  {
    name: 'ws-pings-limited',
    about: 'the same while each principal may send 2,000 requests a second',
    config: LIMITED,
    run: (target) => onSockets(target, (socket) => pingPong(target, socket)),
  },
  {
    name: 'ws-pongs',
    about: '90 WebSockets send pongs that nobody asked for',
    run: (target) => pourFrames(target, many(frame('pong'))),
  },
  {
    name: 'ws-tiny-messages',
    about: '90 WebSockets send messages of one byte, which are no JSON',
    run: (target) => pourFrames(target, many(frame('text', 'x'))),
  },
  {
    name: 'ws-requests',
    about: '90 WebSockets send the request ping and read the answers',
    run: (target) => pourFrames(target, many(frame('text', PING))),
  },
  {
    name: 'ws-requests-limited',
    about: 'the same while each principal may send 2,000 requests a second',
    config: LIMITED,
    run: (target) => pourFrames(target, many(frame('text', PING))),
  },
  {
    name: 'ws-requests-unread',
    about: '90 WebSockets send the request ping and read nothing',
    run: (target) => pourFrames(target, many(frame('text', PING)), { reads: false }),
  },
  {
    name: 'ws-notifications',
    about: '90 WebSockets cancel calls that do not exist',
    run: (target) => pourFrames(target, many(frame('text', CANCELLED))),
  },
  {
    name: 'ws-calls-cancelled',
    about: '40 WebSockets call a small tool and cancel the call at once, again and again',
    run: (target) => pourFrames(target, cancelledCalls(300), { sockets: 40 }),
  },
  {
    name: 'ws-fragments',
    about: '90 WebSockets send messages in fragments of one byte',
    run: (target) => {
      const middle = Array.from({ length: 10_000 }, () => frame('continuation', ' ', false));
      const whole = [frame('text', ' ', false), ...middle, frame('continuation', PING)];
      return pourFrames(target, Buffer.concat(whole));
    },
  },
  {
    name: 'ws-empty-fragments',
    about: '90 WebSockets send a message of empty fragments without end',
    run: (target) =>
      onSockets(target, async (socket) => {
        await write(socket, frame('text', ' ', false));
        return await pour(target, socket, many(frame('continuation', '', false)));
      }),
  },
  {
    name: 'ws-large-unfinished',
    about: '90 WebSockets send all of a message of 4 MiB but its last byte',
    run: (target) =>
      writeAndStay(target, frame('text', callOf(LARGE)).subarray(0, -1), { isPolite: true }),
  },
  {
    name: 'ws-large-before-initialize',
    about: '90 WebSockets send messages of 4 MiB and never say initialize',
    run: (target) => pourFrames(target, frame('text', callOf(LARGE)), { isPolite: false }),
  },
  {
    name: 'ws-large-while-starting',
    about: '90 WebSockets send messages of 4 MiB while their server is still starting',
    servers: { late: { ...server('--hello-after', '25000'), start: 'lazy' } },
    run: (target) => pourFrames(target, frame('text', callOf(LARGE)), { path: '/servers/late' }),
  },
  {
    name: 'ws-too-large',
    about: '90 WebSockets send messages of 16 MiB, which is over the limit',
    run: (target) => pourFrames(target, frame('text', callOf(16 * MEBI))),
  },
  {
    name: 'ws-binary',
    about: '90 WebSockets send binary messages, which are not taken',
    run: (target) => pourFrames(target, many(frame('binary', PING))),
  },
  {
    name: 'ws-churn',
    about: '90 WebSockets are closed as soon as they are open, and come back',
    run: (target) =>
      onSockets(target, async (socket) => {
        await write(socket, frame('close'));
        return 0;
      }),
  },
  {
    name: 'ws-large-calls',
    about: '90 WebSockets call a tool with 4 MiB of arguments again and again',
    run: (target) => pourFrames(target, frame('text', callOf(LARGE))),
  },
];
