// The queue in front of a server: whose call is next, and who has to go when there is no more room.
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Downstream } from '../../../src/ports/downstream.ts';
import type { Request } from '../../../src/ports/request.ts';
import { WaitingCalls } from '../../../src/upstream/waiting-calls.ts';

interface Named extends Request {
  readonly name: string;
}

const clientOf = (key: string, kind = 'key') => ({ principal: { key, kind } }) as Downstream;

function callOf(client: Downstream, name: string): Named {
  const frame = { bytes: Buffer.alloc(100) };
  return { frame, client, name, canceller: undefined } as unknown as Named;
}

function queueOf(most = 100) {
  const displaced: string[] = [];
  const events = {
    expired: vi.fn(),
    passed: vi.fn(),
    displaced: (request: Request) => displaced.push((request as Named).name),
  };
  const queue = new WaitingCalls(most, events);
  onTestFinished(() => void queue.clear());
  const add = (call: Named): boolean => queue.add(call, 60_000);
  const takeAll = (): string[] => {
    const names: string[] = [];
    for (;;) {
      const next = queue.take(() => true) as Named | undefined;
      if (next === undefined) return names;
      names.push(next.name);
    }
  };
  return { queue, displaced, add, takeAll };
}

it('callers take turns, each in its own order', () => {
  const { add, takeAll } = queueOf();
  const [a, b, c] = [clientOf('a'), clientOf('b'), clientOf('c')];
  for (const name of ['a1', 'a2', 'a3', 'a4']) add(callOf(a, name));
  add(callOf(b, 'b1'));
  add(callOf(b, 'b2'));
  add(callOf(c, 'c1'));
  expect(takeAll()).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
});

it('all sessions of one principal are one caller', () => {
  const { add, takeAll } = queueOf();
  add(callOf(clientOf('a'), 'first session 1'));
  add(callOf(clientOf('a'), 'second session 1'));
  add(callOf(clientOf('b'), 'other'));
  expect(takeAll()).toEqual(['first session 1', 'other', 'second session 1']);
});

it('without authentication each session is a caller of its own', () => {
  const { add, takeAll } = queueOf();
  const [a, b] = [clientOf('anonymous', 'anonymous'), clientOf('anonymous', 'anonymous')];
  for (const name of ['a1', 'a2', 'a3']) add(callOf(a, name));
  add(callOf(b, 'b1'));
  expect(takeAll()).toEqual(['a1', 'b1', 'a2', 'a3']);
});

it('who can’t go now does not lose its turn', () => {
  const { queue, add, takeAll } = queueOf();
  const [a, b] = [clientOf('a'), clientOf('b')];
  add(callOf(a, 'a1'));
  add(callOf(b, 'b1'));
  add(callOf(b, 'b2'));
  const next = queue.take((request) => request.client === b) as Named | undefined;
  expect(next?.name).toBe('b1');
  expect(takeAll()).toEqual(['a1', 'b2']);
});

it('a full queue makes room for somebody else, at the cost of whoever has most calls there', () => {
  const { queue, displaced, add, takeAll } = queueOf(4);
  const [a, b] = [clientOf('a'), clientOf('b')];
  for (const name of ['a1', 'a2', 'a3', 'a4']) expect(add(callOf(a, name))).toBe(true);
  expect(add(callOf(a, 'a5'))).toBe(false);
  expect(add(callOf(b, 'b1'))).toBe(true);
  expect(add(callOf(b, 'b2'))).toBe(true);
  // Both have as many now.
  expect(add(callOf(b, 'b3'))).toBe(false);
  expect(displaced).toEqual(['a4', 'a3']);
  expect(queue.size).toBe(4);
  expect(takeAll()).toEqual(['a1', 'b1', 'a2', 'b2']);
});

it('a call that is cancelled gives its place back', () => {
  const { queue, add } = queueOf();
  const call = callOf(clientOf('a'), 'a1');
  add(call);
  call.canceller?.cancel(undefined);
  call.canceller?.cancel(undefined);
  expect(queue.size).toBe(0);
  expect(queue.take(() => true)).toBeUndefined();
});
