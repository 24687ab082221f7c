// Session ids, and how many sessions there may be.
import { expect, it } from 'vitest';
import { newSessionId } from '../../../src/session/session-ids.ts';
import { SessionStore } from '../../../src/session/session-store.ts';

it('B09 ids are long, visible and share nothing but by chance', () => {
  const ids = new Set<string>();
  const beginnings = new Set<string>();
  for (let at = 0; at < 100_000; at++) {
    const id = newSessionId();
    ids.add(id);
    beginnings.add(id.slice(0, 10));
  }
  expect(ids.size).toBe(100_000);
  expect(beginnings.size).toBe(100_000);
  for (const id of ids) expect(id).toMatch(/^[\x21-\x7e]{43}$/);
});

it('B12 places are counted for each principal and in all', () => {
  const store = new SessionStore({ idle: 60_000, max: 3, maxPerPrincipal: 2, maxInFlight: 64 });
  const a = { key: 'a' };
  const b = { key: 'b' };
  expect([store.reserve(a), store.reserve(a), store.reserve(a)]).toEqual([
    undefined,
    undefined,
    'own',
  ]);
  expect([store.reserve(b), store.reserve(b)]).toEqual([undefined, 'all']);
  store.release(a);
  expect(store.reserve(b)).toBeUndefined();
  store.close();
});
