/** What a session keeps of sent events, over many streams. */
import { expect, it } from 'vitest';
import { EventStream } from '../../../src/session/event-stream.ts';
import { ReplayBudget } from '../../../src/session/replay-budget.ts';

it('nothing of a stream that was cleared is left', () => {
  const budget = new ReplayBudget();
  for (let number = 1; number <= 100; number++) {
    const stream = new EventStream(number, budget);
    stream.write(Buffer.from('{}'));
    stream.finish();
    stream.clear();
  }
  expect([budget.size, budget.bytes]).toEqual([0, 0]);
});

it('the oldest events go first, the newest stays however large', () => {
  const budget = new ReplayBudget();
  const small = new EventStream(1, budget);
  small.write(Buffer.alloc(600 * 1024));
  small.write(Buffer.alloc(600 * 1024));
  expect(budget.size).toBe(1);
  new EventStream(2, budget).write(Buffer.alloc(2 * 1024 * 1024));
  expect(budget.size).toBe(1);
  expect(budget.bytes).toBeGreaterThan(2 * 1024 * 1024);
  small.clear();
  expect(budget.size).toBe(1);
});
