/** What different work on lists may cost together in one turn of the event loop. */
import { expect, it } from 'vitest';
import { onNextTurn } from '../../../src/base/turns.ts';
import { listWork } from '../../../src/catalog/list-work.ts';

it('one kind of work that has used up a turn leaves nothing of it for the others', async () => {
  const [reading, searching] = [listWork(), listWork()];
  while (!reading.isSpent) reading.spend(0);
  expect(searching.isSpent).toBe(true);
  await new Promise<void>((resolve) => onNextTurn(resolve));
  expect(searching.isSpent).toBe(false);
});
