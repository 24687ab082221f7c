// Many of something that each is small: sessions, streams, calls, questions that nobody answers.
import type { Attack } from './attack.ts';
import { SHARED, type Target } from './target.ts';
import { exchange, get, message, modernPost, openSession, post, Statuses, write } from './wire.ts';

const STREAM = 'Accept: text/event-stream\r\n';

function call(name: string, args: object = {}, id: number | string = 1): string {
  return message('tools/call', { name, arguments: args }, id);
}

async function flood(target: Target, lanes: number, request: Buffer): Promise<string> {
  const statuses = new Statuses();
  await target.begin();
  await target.repeat(lanes, async () => statuses.add(await exchange(target, request)));
  return String(statuses);
}

/** The same request in one session, from many connections. */
function floodSession(name: string, about: string, lanes: number, body: string): Attack {
  return {
    name,
    about,
    run: async (target) => {
      const headers = await openSession(target, SHARED, 'attacker');
      const request = post(target, `${SHARED}/mcp`, body, { key: 'attacker', headers });
      return await flood(target, lanes, request);
    },
  };
}

export const MANY_SESSIONS: readonly Attack[] = [
  {
    name: 'sessions',
    about: '50 sides open sessions and leave them',
    run: (target) => {
      const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a' } };
      const body = message('initialize', params, 1);
      return flood(target, 50, post(target, `${SHARED}/mcp`, body, { key: 'attacker' }));
    },
  },
  {
    name: 'sessions-ended',
    about: '50 sides open sessions and end them',
    run: async (target) => {
      await target.begin();
      const sessions = await target.repeat(50, async () => {
        const headers = await openSession(target, SHARED, 'attacker');
        const line = `DELETE ${SHARED}/mcp HTTP/1.1\r\n${target.headers('attacker')}${headers}\r\n`;
        await exchange(target, Buffer.from(line));
      });
      return `${sessions} sessions`;
    },
  },
  floodSession('small-calls', '50 sides call a small tool', 50, call('echo')),
  floodSession('calls-refused', '300 sides call a tool that never ends', 300, call('hang')),
  floodSession('lists', '50 sides ask for the list of tools', 50, message('tools/list', {}, 1)),
  floodSession(
    'log-levels',
    '50 sides set the log level',
    50,
    message('logging/setLevel', { level: 'debug' }, 1),
  ),
  floodSession(
    'cancels-of-nothing',
    '50 sides cancel a call that does not exist',
    50,
    message('notifications/cancelled', { requestId: 'nothing' }),
  ),
  floodSession(
    'unknown-answers',
    '50 sides answer a question that nobody asked',
    50,
    '{"jsonrpc":"2.0","id":"nothing","result":{}}',
  ),
  {
    name: 'modern-calls',
    about: '50 sides of the stateless era call a small tool',
    run: (target) =>
      flood(target, 50, modernPost(target, SHARED, 'tools/call', { name: 'echo', arguments: {} })),
  },
  {
    name: 'modern-discovers',
    about: '50 sides of the stateless era ask what there is',
    run: (target) => flood(target, 50, modernPost(target, SHARED, 'server/discover', {})),
  },
  {
    name: 'streams-churn',
    about: '50 sides open event streams and close them',
    run: async (target) => {
      const headers = await openSession(target, SHARED, 'attacker');
      const request = get(target, `${SHARED}/mcp`, 'attacker', headers + STREAM);
      await target.begin();
      const streams = await target.repeat(50, async () => {
        const socket = await target.connect();
        const opened = new Promise((resolve) =>
          socket.once('data', resolve).once('close', resolve),
        );
        await write(socket, request);
        await opened;
        socket.destroy();
      });
      return `${streams} streams`;
    },
  },
  {
    name: 'resumptions',
    about: '50 sides resume streams that do not exist',
    run: async (target) => {
      const headers = await openSession(target, SHARED, 'attacker');
      const last = `Last-Event-ID: ${'1-'.repeat(3000)}\r\n`;
      const request = get(target, `${SHARED}/mcp`, 'attacker', headers + STREAM + last);
      await target.begin();
      const streams = await target.repeat(50, async () => {
        const socket = await target.connect();
        const opened = new Promise((resolve) =>
          socket.once('data', resolve).once('close', resolve),
        );
        await write(socket, request);
        await opened;
        socket.destroy();
      });
      return `${streams} streams`;
    },
  },
  {
    name: 'tickets',
    about: '50 sides ask for tickets that nobody uses',
    run: (target) =>
      flood(target, 50, post(target, `${SHARED}/tickets`, '{}', { key: 'attacker' })),
  },
  {
    name: 'questions-open',
    about: '40 sessions call a tool that asks, and never answer; the victim calls the same server',
    victimServer: 'shared',
    run: async (target) => {
      const capabilities = { elicitation: {} };
      const sessions = await Promise.all(
        Array.from({ length: 40 }, () => openSession(target, SHARED, 'attacker', { capabilities })),
      );
      await target.begin();
      const calls = await target.repeat(40, async (lane) => {
        const headers = sessions[lane] ?? '';
        const body = call('ask', {}, lane);
        const socket = await target.connect();
        socket.resume();
        await write(socket, post(target, `${SHARED}/mcp`, body, { key: 'attacker', headers }));
        while (!target.isOver && !socket.destroyed) await target.wait(100);
      });
      return `${calls} calls`;
    },
  },
  {
    name: 'questions-parked',
    about: '40 sides of the stateless era call a tool that asks, and never come back',
    victimServer: 'shared',
    run: (target) =>
      flood(target, 40, modernPost(target, SHARED, 'tools/call', { name: 'ask', arguments: {} })),
  },
];
