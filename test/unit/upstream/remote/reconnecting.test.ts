/**
 * How soon a stream of a remote server is opened again: the server says, within bounds.
 */
import { expect, it } from 'vitest';
import { reconnectMs } from '../../../../src/upstream/remote/answer-body.ts';

const BACKOFF = { floorMs: 1_000, firstMs: 2_000, capMs: 30_000 };

it.each([
  [0, 1_000],
  [10, 1_000],
  [1_500, 1_500],
  [999_999_999, 30_000],
])('a server that says retry: %i is asked after %i ms', (retryMs, waitMs) => {
  expect(reconnectMs({ lastId: undefined, retryMs }, 1, BACKOFF)).toBe(waitMs);
});

it('one that says nothing is asked less and less often', () => {
  const position = { lastId: undefined, retryMs: undefined };
  const waits = [1, 3, 20].map((failures) => reconnectMs(position, failures, BACKOFF));
  expect(waits[0]).toBeLessThan(2_500);
  expect(waits[1]).toBeGreaterThan(6_000);
  expect(waits[2]).toBeLessThanOrEqual(36_000);
});
