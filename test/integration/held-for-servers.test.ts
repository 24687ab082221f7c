/** What a process has not read, and what it has written of a message that is not whole, is held for it. */
import { expect, it, onTestFinished } from 'vitest';
import { HeldBytes } from '../../src/base/held-bytes.ts';
import { TurnQuota } from '../../src/base/turns.ts';
import { loadText } from '../../src/config/load.ts';
import { createLogger } from '../../src/observe/logger.ts';
import { channelOpener } from '../../src/upstream/kinds.ts';
import { until } from '../support/until.ts';

const MIB = 1024 ** 2;

/** Runs code as a server. */
function serve(code: string) {
  const held = new HeldBytes({ limitBytes: 8 * MIB, shareBytes: 8 * MIB });
  const logger = createLogger({ level: 'fatal', messages: false });
  const text = JSON.stringify({
    servers: { one: { command: process.execPath, args: ['-e', code] } },
  });
  const { config } = loadText('held', text, {}, process.cwd());
  const [server] = config.servers;
  if (server === undefined) throw new Error('no server');
  const received: string[] = [];
  const dropped: [length: number, isForRoom: boolean | undefined][] = [];
  const ends: string[] = [];
  const channel = channelOpener({}, { servers: [], logger })(server, {
    events: {
      received: (message) => received.push(message.toString()) > 0,
      oversize: (_head, _tail, length, isForRoom) => dropped.push([length, isForRoom]),
      failed: () => undefined,
      awaits: () => true,
      noise: () => undefined,
      drained: () => undefined,
      closed: (reason) => ends.push(reason),
    },
    quota: new TurnQuota(64 * MIB),
    logger,
    owner: () => held.server('one'),
  });
  onTestFinished(() => channel.close());
  return { held, channel, received, dropped, ends };
}

const ON_INPUT = "process.stdin.once('data', () => process.stdout.write('\"}\\n{\"id\":2}\\n'));";
const WRITES = `process.stdout.write('{"id":1,"result":"' + 'x'.repeat(${3 * MIB}));`;

it('what it has written of a message counts until that is whole', async () => {
  const { held, channel, received } = serve(`${WRITES}${ON_INPUT}`);
  await until(() => held.byKind.from_server > 3 * MIB);
  channel.send(Buffer.from('{}'));
  await until(() => received.length === 2);
  expect(held.total).toBe(0);
});

it('a message that there is no room for is dropped, and the next one is taken', async () => {
  const { held, channel, received, dropped } = serve(`${WRITES}${ON_INPUT}`);
  await until(() => held.byKind.from_server > 3 * MIB);
  held.client({ key: 'ann', kind: 'key' }).add('call', 6 * MIB);
  held.client({ key: 'bob', kind: 'key' }).hold('call', MIB, () => undefined);
  await until(() => held.byKind.from_server < MIB);
  channel.send(Buffer.from('{}'));
  await until(() => received.length === 1);
  expect(received).toEqual(['{"id":2}']);
  expect(dropped).toEqual([[3 * MIB + 20, true]]);
  expect(held.byKind.from_server).toBe(0);
});

it('what it has not read counts until it has', async () => {
  const { held, channel } = serve(
    'setTimeout(() => process.stdin.resume(), 500); process.stdin.on("data", () => undefined).pause();',
  );
  channel.send(Buffer.alloc(3 * MIB, 'x'));
  await until(() => held.byKind.to_server > 2 * MIB);
  await until(() => held.byKind.to_server === 0);
});

it('a process that does not read is ended when more waits for it than may be held', async () => {
  const { held, channel, ends } = serve('setInterval(() => undefined, 1_000)');
  channel.send(Buffer.alloc(9 * MIB, 'x'));
  await until(() => ends.length > 0);
  expect(ends).toEqual(['stdin_held']);
  await channel.close();
  await until(() => held.total === 0);
});
