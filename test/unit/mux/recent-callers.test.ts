/** Who still counts as being at a server, against a table of everybody and when they were there. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { RecentCallers } from '../../../src/mux/recent-callers.ts';
import type { Downstream } from '../../../src/ports/downstream.ts';

const WINDOW_MS = 10_000;
const client = (key: string, logThreshold?: number): Downstream =>
  ({ principal: { key }, logThreshold }) as unknown as Downstream;

it('everybody counts for ten seconds after their last call, however many others there were', () => {
  const key = fc.constantFrom('a', 'b', 'c');
  const steps = fc.array(fc.tuple(key, fc.nat(4_000), fc.boolean()), { maxLength: 12 });
  fc.assert(
    fc.property(steps, fc.nat(12_000), (calls, pauseMs) => {
      const recent = new RecentCallers();
      const all = new Map<string, number>();
      const logged = new Map<string, number>();
      let nowMs = 1_000;
      for (const [who, afterMs, hasLogs] of calls) {
        nowMs += afterMs;
        recent.note(client(who, hasLogs ? 3 : Number.POSITIVE_INFINITY), nowMs);
        all.set(who, nowMs);
        if (hasLogs) logged.set(who, nowMs);
      }
      nowMs += pauseMs;
      for (const who of ['a', 'b', 'c', 'd']) {
        for (const [hasLogs, seen] of [[false, all] as const, [true, logged] as const]) {
          const others = [...seen].filter(([one, atMs]) => one !== who && nowMs - atMs < WINDOW_MS);
          expect(recent.isOther(who, nowMs, hasLogs)).toBe(others.length > 0);
        }
      }
    }),
  );
});

it('a session, which may have set a level, counts as one that is sent logs', () => {
  const recent = new RecentCallers();
  recent.note(client('a'), 0);
  expect(recent.isOther('b', 1, true)).toBe(true);
});
