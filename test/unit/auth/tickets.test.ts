// How long tickets are good, and how many there may be.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Tickets } from '../../../src/auth/tickets.ts';

const A = { key: 'a' };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('are good once, for half a minute, at one endpoint', () => {
  const tickets = new Tickets();
  const issue = (): string => tickets.issue(A, '/x')?.ticket ?? '';
  const [used, early, late, elsewhere] = [issue(), issue(), issue(), issue()];
  expect(tickets.redeem(used, '/x')).toBe(A);
  expect(tickets.redeem(used, '/x')).toBeUndefined();
  expect(tickets.redeem(elsewhere, '/y')).toBeUndefined();
  expect(tickets.redeem(elsewhere, '/x')).toBeUndefined();
  vi.advanceTimersByTime(29_000);
  expect(tickets.redeem(early, '/x')).toBe(A);
  vi.advanceTimersByTime(1_000);
  expect(tickets.redeem(late, '/x')).toBeUndefined();
});

it('are bounded for each principal, and there is room again when they are over', () => {
  const tickets = new Tickets();
  for (let at = 0; at < 100; at++) expect(tickets.issue(A, '/x')).toBeDefined();
  expect(tickets.issue(A, '/x')).toBeUndefined();
  expect(tickets.issue({ key: 'b' }, '/x')).toBeDefined();
  vi.advanceTimersByTime(30_000);
  expect(tickets.issue(A, '/x')).toBeDefined();
});

it('are counted for the subject, whatever clients it comes with', () => {
  const tickets = new Tickets();
  const by = (client: number) => ({ key: `s ${client}`, quotaKey: 's' });
  for (let at = 0; at < 100; at++) expect(tickets.issue(by(at), '/x')).toBeDefined();
  expect(tickets.issue(by(100), '/x')).toBeUndefined();
});
