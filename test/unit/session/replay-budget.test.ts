/** What a session keeps of sent events, over many streams. */
import { expect, it } from 'vitest';
import { HeldBytes } from '../../../src/base/held-bytes.ts';
import { EventStream } from '../../../src/session/event-stream.ts';
import { ReplayBudget } from '../../../src/session/replay-budget.ts';
import { SessionStreams } from '../../../src/session/session-streams.ts';
import { anyOwner } from '../../support/held.ts';

it('nothing of a stream that was cleared is left', () => {
  const budget = new ReplayBudget(anyOwner());
  for (let number = 1; number <= 100; number++) {
    const stream = new EventStream(String(number), budget);
    stream.write(Buffer.from('{}'));
    stream.finish();
    stream.clear();
  }
  expect([budget.size, budget.bytes]).toEqual([0, 0]);
});

it('the oldest events go first, the newest stays however large', () => {
  const budget = new ReplayBudget(anyOwner());
  const small = new EventStream('1', budget);
  small.write(Buffer.alloc(600 * 1024));
  small.write(Buffer.alloc(600 * 1024));
  expect(budget.size).toBe(1);
  new EventStream('2', budget).write(Buffer.alloc(2 * 1024 * 1024));
  expect(budget.size).toBe(1);
  expect(budget.bytes).toBeGreaterThan(2 * 1024 * 1024);
  small.clear();
  expect(budget.size).toBe(1);
});

it('a large message in parts is kept as it is for a client that is away, and sent like that', () => {
  const stream = new EventStream('1', new ReplayBudget(anyOwner()));
  const large = Buffer.alloc(2 * 1024 * 1024, 'x');
  stream.write(Buffer.from('{"id":1,'), large, Buffer.from('}'));
  stream.finish();
  const sent: Buffer[] = [];
  stream.resume(0, { write: (...parts) => void sent.push(...parts), end: () => undefined });
  expect(sent).toContain(large);
  expect(Buffer.concat(sent).toString()).toBe(
    `id: 1_1\nevent: message\ndata: {"id":1,${large}}\n\n`,
  );
});

const KIB = 1024;
const ann = { key: 'ann', kind: 'key' } as const;
const bob = { key: 'bob', kind: 'key' } as const;

it('what is kept counts as held, until it is forgotten', () => {
  const held = new HeldBytes({ limitBytes: 2_000 * KIB, shareBytes: 2_000 * KIB });
  const streams = new SessionStreams('2025-11-25', () => held.client(ann));
  streams.send(Buffer.alloc(10 * KIB), undefined);
  expect(held.byKind.replay).toBe(10 * KIB);
  const sent: Buffer[] = [];
  const writer = { write: (bytes: Buffer) => void sent.push(bytes), end: () => undefined };
  streams.openGeneral(writer);
  const call = streams.openForCall(writer);
  call.write(Buffer.alloc(100 * KIB, 'x'));
  call.finish();
  expect(held.byKind.replay).toBeGreaterThan(110 * KIB);
  expect(held.byKind.replay).toBeLessThan(112 * KIB);
  streams.close();
  expect(held.total).toBe(0);
});

it('what is kept is forgotten when the whole is exceeded; what comes then is kept again', () => {
  const held = new HeldBytes({ limitBytes: 800 * KIB, shareBytes: 800 * KIB });
  const streams = new SessionStreams('2025-11-25', () => held.client(ann));
  for (let i = 0; i < 5; i++) streams.send(Buffer.alloc(100 * KIB), undefined);
  held.client(bob).hold('unread', 400 * KIB, () => undefined);
  expect(held.byKind.replay).toBe(0);
  streams.send(Buffer.alloc(100 * KIB, 'y'), undefined);
  expect(held.byKind.replay).toBe(100 * KIB);
  const sent: Buffer[] = [];
  streams.openGeneral({
    write: (...parts) => void sent.push(Buffer.concat(parts)),
    end: () => undefined,
  });
  expect(sent.filter((bytes) => bytes.length > KIB)).toHaveLength(1);
  streams.close();
  expect(held.byKind.replay).toBe(0);
});
