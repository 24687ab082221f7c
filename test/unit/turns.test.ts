import { describe, expect, it } from 'vitest';
import { LEAST_COST, onNextTurn, TurnQuota } from '../../src/base/turns.ts';

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
