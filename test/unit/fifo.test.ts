import { expect, it } from 'vitest';
import { Fifo } from '../../src/base/fifo.ts';

it('gives things in the order in which they came, whenever they are taken', () => {
  const queue = new Fifo<number>();
  const taken: (number | undefined)[] = [];
  let pushed = 0;
  for (let round = 0; round < 50; round++) {
    for (let count = 0; count < 20; count++) queue.push(pushed++);
    for (let count = 0; count < round; count++) if (queue.size > 0) taken.push(queue.take());
  }
  while (queue.size > 0) taken.push(queue.take());
  expect(taken).toEqual(Array.from({ length: pushed }, (_, at) => at));
  expect(queue.take()).toBeUndefined();
  expect(queue.size).toBe(0);
});
