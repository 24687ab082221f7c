// When new requests are turned away for want of memory.
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { isNearlyFull, Pressure } from '../../../src/listener/pressure.ts';

const MIB = 1024 * 1024;

it.each([
  [0.5, 0.5, 1000, false],
  [0.95, 0.5, 1000, true],
  [0.5, 0.95, 1000, true],
  [0.5, 0.95, 0, false],
  [0.5, 0.95, 2 ** 63, false],
])('F25 heap %d, container %d of %d MiB: %s', (heap, resident, container, expected) => {
  const use = {
    heapBytes: heap * 1000 * MIB,
    heapLimitBytes: 1000 * MIB,
    residentBytes: resident * 1000 * MIB,
    containerLimitBytes: container * MIB,
  };
  expect(isNearlyFull(use)).toBe(expected);
});

it('C06 bodies on their way in are bounded together, and give their room back', () => {
  const pressure = new Pressure(4 * MIB, 10 * MIB);
  const post = (length?: number): IncomingMessage =>
    ({
      method: 'POST',
      headers: length === undefined ? {} : { 'content-length': String(length) },
    }) as unknown as IncomingMessage;
  const response = (): ServerResponse => new EventEmitter() as unknown as ServerResponse;
  const first = response();
  expect(pressure.hasRoom(post(4 * MIB), first)).toBe(true);
  // One of unknown length may become as large as any.
  expect(pressure.hasRoom(post(), response())).toBe(true);
  expect(pressure.hasRoom(post(3 * MIB), response())).toBe(false);
  expect(pressure.hasRoom(post(100), response())).toBe(true);
  first.emit('close');
  expect(pressure.hasRoom(post(3 * MIB), response())).toBe(true);
  pressure.close();
});
