// Bytes that come in pieces: the whole is the same however many they are, and its room no larger than needed.
import { expect, it } from 'vitest';
import { GatheredBytes } from '../../../src/base/gathered-bytes.ts';

const MIB = 1024 * 1024;
const PIECE = 40_000;

/** @param expected as whoever sends them has said */
function gathered(length: number, expected?: number): Buffer {
  const bytes = new GatheredBytes(expected);
  for (let at = 0; at < length; at += PIECE) {
    bytes.push(Buffer.alloc(Math.min(PIECE, length - at), at / PIECE));
  }
  expect(bytes.length).toBe(length);
  return bytes.take();
}

const expectedOf = (length: number): Buffer =>
  Buffer.from(Array.from({ length }, (_, at) => Math.floor(at / PIECE)));

it.each([PIECE, MIB - 1, MIB + 1, 5 * MIB])('%i bytes are what was pushed', (length) => {
  for (const expected of [undefined, length, length - 7, length + 9]) {
    expect(gathered(length, expected).equals(expectedOf(length))).toBe(true);
  }
});

it('as much room is made as was said', () => {
  expect(gathered(4 * MIB, 4 * MIB).buffer.byteLength).toBe(4 * MIB);
  expect(gathered(4 * MIB).buffer.byteLength).toBeGreaterThan(4 * MIB);
});
