// Floods of WebSocket frames, by somebody with a key.
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Attack } from './attack.ts';
import { SHARED, type Target } from './target.ts';
import {
  frame,
  helloFrame,
  MEBI,
  many,
  openWebSocket,
  openWebSockets,
  pour,
  write,
} from './wire.ts';

const MOST_SOCKETS = 90;
/** The gateway cuts a WebSocket that owes more pongs than this. */
const PINGS_AT_ONCE = 50;

/** Each on `count` sockets with a session; one that is cut is opened again. */
async function onSockets(
  target: Target,
  act: (socket: Socket) => Promise<number>,
  count = MOST_SOCKETS,
): Promise<string> {
  const first = await openWebSockets(target, SHARED, count);
  let bytes = 0;
  let opened = first.length;
  await target.begin();
  await target.repeat(first.length, async (lane) => {
    let socket = first[lane];
    if (socket === undefined || socket.destroyed) {
      socket = await openWebSocket(target, SHARED, 'attacker');
      opened += 1;
    }
    socket.resume();
    await write(socket, helloFrame());
    bytes += await act(socket);
    socket.destroy();
  });
  return `${opened} sockets wrote ${(bytes / MEBI).toFixed(1)} MiB`;
}

/** All write the same as fast as it is taken. */
function pourFrames(target: Target, frames: Buffer): Promise<string> {
  return onSockets(target, (socket) => pour(target, socket, frames));
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
];
