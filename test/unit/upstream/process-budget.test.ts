// How many private processes there may be, and which one gives way to another.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { monotonicMs } from '../../../src/base/clock.ts';
import { ProcessBudget, type ProcessSlot } from '../../../src/upstream/process-budget.ts';

/** Takes slots of a budget in the name of principals. */
class Owner {
  readonly quotaKey: string;
  readonly server = 's';
  idleSinceMs: number | undefined;
  readonly gone = Promise.withResolvers<void>();
  readonly acquire: ProcessSlot;
  hasGivenWay = false;

  constructor(budget: ProcessBudget, quotaKey: string) {
    this.quotaKey = quotaKey;
    this.acquire = budget.take(this);
  }

  evict(): void {
    this.hasGivenWay = true;
    this.acquire.giveBack(this.gone.promise);
  }
}

it('caps hold for each principal and for all of them, and slots are given back', async () => {
  const budget = new ProcessBudget({ max: 3, maxPerPrincipal: 2, maxStarting: 1 });
  const [, , third] = ['a', 'a', 'b'].map((key) => new Owner(budget, key));
  expect(() => new Owner(budget, 'b')).toThrow('3 in all');
  third?.evict();
  third?.gone.resolve();
  await third?.gone.promise;
  expect(budget.total).toBe(2);
  expect(() => new Owner(budget, 'a')).toThrow('2 for one user');
  new Owner(budget, 'c');
  expect(() => new Owner(budget, 'b')).toThrow('3 in all');
  expect(budget.total).toBe(3);
});

describe('beyond the cap', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 100_000 });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('the process that nobody has needed for longest is evicted, and is gone before the next', async () => {
    vi.advanceTimersByTime(50_000);
    const budget = new ProcessBudget({ max: 9, maxPerPrincipal: 3, maxStarting: 1 });
    const [needed, short, long] = ['a', 'a', 'a'].map((key) => new Owner(budget, key));
    const other = new Owner(budget, 'b');
    const nowMs = monotonicMs();
    if (short === undefined || long === undefined) throw new Error('three');
    short.idleSinceMs = nowMs - 1_000;
    long.idleSinceMs = nowMs - 2_000;
    other.idleSinceMs = nowMs - 9_000;
    const next = new Owner(budget, 'a');
    expect([needed, short, long, other].map((one) => one?.hasGivenWay)).toEqual([
      false,
      false,
      true,
      false,
    ]);
    let isFree = false;
    void next.acquire.free.then(() => {
      isFree = true;
    });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(isFree).toBe(false);
    long.gone.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(isFree).toBe(true);
    expect(budget.total).toBe(4);
  });

  it('it is too early for one that may be needed soon', () => {
    const budget = new ProcessBudget({ max: 2, maxPerPrincipal: 2, maxStarting: 1 });
    const [first] = [new Owner(budget, 'a'), new Owner(budget, 'a')];
    first.idleSinceMs = monotonicMs() + 1_000;
    expect(() => new Owner(budget, 'a')).toThrow('2 for one user');
    vi.advanceTimersByTime(1_000);
    new Owner(budget, 'a');
    expect(first.hasGivenWay).toBe(true);
  });

  it('where all have too many, those of others give way after the own ones', () => {
    const budget = new ProcessBudget({ max: 2, maxPerPrincipal: 2, maxStarting: 1 });
    const [own, other] = [new Owner(budget, 'a'), new Owner(budget, 'b')];
    own.idleSinceMs = monotonicMs();
    other.idleSinceMs = monotonicMs() - 5_000;
    new Owner(budget, 'a');
    expect([own.hasGivenWay, other.hasGivenWay]).toEqual([true, false]);
    new Owner(budget, 'a');
    expect(other.hasGivenWay).toBe(true);
  });
});
