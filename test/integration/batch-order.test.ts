/**
 * A batch may take several turns of the event loop. Its POST is answered when all of it is taken, so
 * that a client's next message never overtakes the rest.
 */
import { ServerResponse } from 'node:http';
import { expect, it, vi } from 'vitest';
import { Session } from '../../src/session/session.ts';
import { post } from '../support/http-client.ts';
import { fixtureServer, scriptedServer } from '../support/scripted-server.ts';
import { useGateway } from '../support/use-gateway.ts';

const plain = fixtureServer('jsonrpc-line.ts', { config: { protocol: 'jsonrpc' } });
const one = scriptedServer();
const harness = useGateway(() => ({
  servers: { one: one.config, plain: plain.config },
  config: { sessions: { idle: '1s' } },
}));

const COUNT = 99;
const notifications = Array.from({ length: COUNT }, (_, at) => ({
  jsonrpc: '2.0',
  method: 'notifications/unknown',
  params: { at },
}));
const withRequest = [{ jsonrpc: '2.0', id: 1, method: 'ping' }, ...notifications];
const version = '2025-03-26';

/** For each response with this status: how many notifications were taken before it, and in how many turns. */
function watch(status: number) {
  const turns: number[] = [];
  const takenBefore: number[] = [];
  let turn = 0;
  let taken = 0;
  let isNoted = false;
  const { notification } = Session.prototype;
  vi.spyOn(Session.prototype, 'notification').mockImplementation(function (this: Session, frame) {
    taken++;
    turns[turn] = (turns[turn] ?? 0) + 1;
    if (!isNoted) {
      setImmediate(() => {
        turn++;
        isNoted = false;
      });
    }
    isNoted = true;
    notification.call(this, frame);
  });
  const { writeHead } = ServerResponse.prototype;
  vi.spyOn(ServerResponse.prototype, 'writeHead').mockImplementation(function (
    this: ServerResponse,
    ...args: unknown[]
  ) {
    if (args[0] === status) takenBefore.push(taken);
    return Reflect.apply(writeHead, this, args) as ServerResponse;
  });
  return { turns, takenBefore };
}

it('accepts a batch over Streamable HTTP when its last message is taken', async () => {
  const session = await harness.session({ version });
  const seen = watch(202);
  expect((await session.post(notifications).response()).status).toBe(202);
  expect(seen.takenBefore).toEqual([COUNT]);
  expect(seen.turns.length).toBeGreaterThan(1);
});

it.each(['application/json', 'text/event-stream'])(
  'answers a batch as %s when its last message is taken',
  async (accept) => {
    const session = await harness.session({ version });
    const seen = watch(200);
    expect((await session.post(withRequest, { accept }).response()).status).toBe(200);
    expect(seen.takenBefore).toEqual([COUNT]);
  },
);

it('accepts a batch over HTTP+SSE when its last message is taken', async () => {
  const client = await harness.sse();
  await client.request('ping', undefined, 'fence');
  const seen = watch(202);
  expect((await client.postText(JSON.stringify(notifications))).status).toBe(202);
  expect(seen.takenBefore).toEqual([COUNT]);
  expect(seen.turns.length).toBeGreaterThan(1);
});

it('accepts a batch for a plain server when its last message is taken', async () => {
  await post(harness.url('plain'), { jsonrpc: '2.0', id: 1, method: 'echo' }).response();
  const seen = watch(202);
  expect((await post(harness.url('plain'), notifications).response()).status).toBe(202);
  expect(seen.takenBefore).toEqual([COUNT]);
});
