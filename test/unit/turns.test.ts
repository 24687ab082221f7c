import { describe, expect, it } from 'vitest';
import { LEAST_COST, onNextTurn, TurnQuota, turnFor } from '../../src/base/turns.ts';

const nextTurn = (): Promise<void> => new Promise((resolve) => onNextTurn(resolve));

describe('What one source may cost in a turn of the event loop', () => {
  it('is spent by bytes, and full again in the next turn', async () => {
    const quota = new TurnQuota(10_000);
    quota.spend(9_000);
    expect(quota.isSpent).toBe(false);
    quota.spend(1_000);
    expect(quota.isSpent).toBe(true);
    await nextTurn();
    expect(quota.isSpent).toBe(false);
  });

  it('is spent by many short messages too', () => {
    const quota = new TurnQuota(10 * LEAST_COST);
    for (let count = 0; count < 10; count++) quota.spend(1);
    expect(quota.isSpent).toBe(true);
  });

  it('is spent with the one of its owner, whoever of its sources used that up', () => {
    const owner = new TurnQuota(1_000);
    const one = new TurnQuota(1_000, owner);
    const other = new TurnQuota(1_000, owner);
    one.spend(1_000);
    expect(other.isSpent).toBe(true);
  });

  it('lets sources that wait go on in turn, however much waits for one of them', async () => {
    const all = new TurnQuota(1_000 * LEAST_COST);
    const [busy, quiet] = [new TurnQuota(1_000 * LEAST_COST, all), new TurnQuota(1_000, all)];
    const order: string[] = [];
    for (let count = 0; count < 5; count++) busy.wait(() => order.push('busy'));
    quiet.wait(() => order.push('quiet'));
    await nextTurn();
    await nextTurn();
    expect(order).toEqual(['busy', 'quiet', 'busy', 'busy', 'busy', 'busy']);
  });

  it('bounds all sources together; who had no room is first in the next turn', async () => {
    const all = new TurnQuota(2 * LEAST_COST);
    const order: number[] = [];
    for (const source of [1, 2, 3]) {
      const quota = new TurnQuota(10 * LEAST_COST, all);
      for (let count = 0; count < 2; count++) quota.wait(() => order.push(source));
    }
    const perTurn: number[][] = [];
    while (perTurn.flat().length < 6) {
      await nextTurn();
      perTurn.push(order.splice(0));
    }
    // The first turn had not begun when they were counted.
    expect(perTurn.filter((served) => served.length > 0)).toEqual([
      [1, 2],
      [3, 1],
      [2, 3],
    ]);
  });

  it('passes over a source that has had its turn, for as long as it has', async () => {
    const all = new TurnQuota(100 * LEAST_COST);
    const [spent, other] = [new TurnQuota(LEAST_COST, all), new TurnQuota(100 * LEAST_COST, all)];
    const order: string[] = [];
    for (let count = 0; count < 2; count++) spent.wait(() => order.push('spent'));
    for (let count = 0; count < 3; count++) other.wait(() => order.push('other'));
    await nextTurn();
    await nextTurn();
    await nextTurn();
    expect(order).toEqual(['spent', 'other', 'other', 'other', 'spent']);
  });

  it('lets who waits again without having done anything wait for a later turn', async () => {
    const quota = new TurnQuota(4 * LEAST_COST);
    let tries = 0;
    const again = (): void => {
      tries++;
      if (tries < 100) quota.wait(again);
    };
    quota.wait(again);
    await nextTurn();
    await nextTurn();
    expect(tries).toBeLessThan(10);
  });

  it('bounds steps that follow a wait, also where each costs all of a turn', async () => {
    const quota = new TurnQuota(100 * LEAST_COST);
    quota.spend(100 * LEAST_COST);
    let steps = 0;
    const step = async (): Promise<void> => {
      await turnFor(quota, 100 * LEAST_COST);
      steps++;
    };
    const all = Promise.all(Array.from({ length: 100 }, step));
    const perTurn: number[] = [];
    while (steps < 100) {
      const before = steps;
      await nextTurn();
      // Those that were let go in this turn have worked when the promises of it are settled.
      await new Promise((resolve) => process.nextTick(resolve));
      perTurn.push(steps - before);
    }
    await all;
    expect(Math.max(...perTurn)).toBe(1);
  });

  it('does a step at once where something is left, and spends its cost', () => {
    const quota = new TurnQuota(2 * LEAST_COST);
    expect(turnFor(quota, LEAST_COST)).toBeUndefined();
    expect(quota.isSpent).toBe(false);
    expect(turnFor(quota, 2 * LEAST_COST)).toBeUndefined();
    expect(quota.isSpent).toBe(true);
  });

  it('lets those go on first in the next turn who waited first', async () => {
    const order: number[] = [];
    onNextTurn(() => {
      order.push(1);
      onNextTurn(() => order.push(3));
    });
    onNextTurn(() => order.push(2));
    await nextTurn();
    expect(order).toEqual([1, 2]);
    await nextTurn();
    expect(order).toEqual([1, 2, 3]);
  });
});
