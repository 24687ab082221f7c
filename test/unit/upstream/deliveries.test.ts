/** How many clients are told in one turn of the event loop what a server tells all of them. */
import { expect, it } from 'vitest';
import { nextTurn, TurnQuota } from '../../../src/base/turns.ts';
import { Deliveries } from '../../../src/upstream/deliveries.ts';
import type { Subscriber } from '../../../src/upstream/subscriptions.ts';

function audience(size: number) {
  const got: string[][] = Array.from({ length: size }, () => []);
  const listeners = got.map(
    (messages) =>
      ({ client: { notify: (message: Buffer) => messages.push(String(message)) } }) as never,
  ) as Subscriber[];
  const told = (): number => got.reduce((sum, messages) => sum + messages.length, 0);
  return { got, delivered: told, listeners: new Set(listeners) };
}

it('a few clients are told at once', () => {
  const { got, listeners } = audience(3);
  const deliveries = new Deliveries();
  deliveries.tell(listeners, Buffer.from('a'), 'kind');
  expect(got).toEqual([['a'], ['a'], ['a']]);
  expect(deliveries.isBehind).toBe(false);
});

it('many clients are told some in each turn, all in order, and the server waits meanwhile', async () => {
  const { got, delivered: told, listeners } = audience(1_000);
  const deliveries = new Deliveries();
  const quota = new TurnQuota(1_000_000, undefined, () => deliveries.isBehind);
  for (const message of ['a', 'b', 'c']) {
    deliveries.tell(listeners, Buffer.from(message), undefined);
  }
  let before = 0;
  let turns = 0;
  for (;;) {
    expect(told() - before).toBeLessThanOrEqual(256);
    expect(quota.isSpent).toBe(deliveries.isBehind);
    before = told();
    if (!deliveries.isBehind) break;
    await nextTurn();
    turns++;
  }
  expect(turns).toBeGreaterThanOrEqual(10);
  expect(new Set(got.map((messages) => messages.join('')))).toEqual(new Set(['abc']));
  expect(deliveries.delivered).toBe(3_000);
});

it('those who leave before it is their turn are not told', async () => {
  const { delivered: told, listeners } = audience(300);
  const deliveries = new Deliveries();
  deliveries.tell(listeners, Buffer.from('a'), undefined);
  listeners.clear();
  while (deliveries.isBehind) await nextTurn();
  expect(told()).toBe(256);
});

it('each is told in order, also where more wait than may', async () => {
  const { got, listeners } = audience(300);
  const deliveries = new Deliveries();
  const messages = Array.from({ length: 1_100 }, (_, at) => String(at));
  for (const message of messages) deliveries.tell(listeners, Buffer.from(message), undefined);
  while (deliveries.isBehind) await nextTurn();
  for (const own of got) expect(own).toEqual(messages);
});
