// What comes on a WebSocket of a message that is not whole yet.
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { HeldBytes } from '../../../src/base/held-bytes.ts';
import { IncomingBytes } from '../../../src/listener/websocket/incoming-bytes.ts';

const KIB = 1024;
const ann = { key: 'ann', kind: 'key' } as const;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function incoming(held: HeldBytes) {
  const tcp = new EventEmitter();
  const context = {
    owner: () => held.client(ann),
    maxBytes: 1_000 * KIB,
    hold: vi.fn(),
    refused: vi.fn(),
  };
  const bytes = new IncomingBytes(tcp as Socket, context);
  const come = (kib: number): void => void tcp.emit('data', Buffer.alloc(kib * KIB));
  return { ...context, bytes, come, tcp };
}

it('costs nothing while messages are small, however many there are, pings included', () => {
  const held = new HeldBytes({ limitBytes: 1, shareBytes: 1 });
  const { bytes, come, hold } = incoming(held);
  for (let i = 0; i < 100; i++) {
    come(40);
    bytes.whole();
  }
  for (let i = 0; i < 10_000; i++) {
    come(0.125);
    bytes.control(Buffer.alloc(0.125 * KIB - 6));
  }
  expect(hold).not.toHaveBeenCalled();
  expect(held.total).toBe(0);
});

it('has room for all that it may become, until it is whole or the connection is over', () => {
  const held = new HeldBytes({ limitBytes: 1_500 * KIB, shareBytes: 1_500 * KIB });
  const { bytes, come, tcp } = incoming(held);
  come(65);
  expect(held.byKind.body).toBe(1_000 * KIB);
  bytes.whole();
  expect(held.total).toBe(0);
  come(65);
  bytes.close();
  expect(held.total).toBe(0);
  expect(tcp.listenerCount('data')).toBe(0);
});

it('is not read while there is no room, and goes on when there is', async () => {
  const held = new HeldBytes({ limitBytes: 1_500 * KIB, shareBytes: 1_500 * KIB });
  held.client(ann).add('call', 600 * KIB);
  const { come, hold } = incoming(held);
  come(65);
  expect(hold.mock.calls).toEqual([[true]]);
  held.client(ann).remove('call', 600 * KIB);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(hold.mock.calls).toEqual([[true], [false]]);
  expect(held.byKind.body).toBe(1_000 * KIB);
});

it('has to come back when there is no room for long, or somebody else needs it', async () => {
  const held = new HeldBytes({ limitBytes: 1_500 * KIB, shareBytes: 1_500 * KIB });
  held.client(ann).add('call', 600 * KIB);
  const waiting = incoming(held);
  waiting.come(65);
  await vi.advanceTimersByTimeAsync(40_000);
  expect(waiting.refused).toHaveBeenCalledOnce();
  held.client(ann).remove('call', 600 * KIB);
  const reading = incoming(held);
  reading.come(65);
  held.client({ key: 'bob', kind: 'key' }).hold('unread', 600 * KIB, () => undefined);
  expect(reading.refused).toHaveBeenCalledOnce();
});
