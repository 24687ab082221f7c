/**
 * A queue in which owners take turns: what each gets out of it, however much it puts in.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FairQueue } from '../../../src/base/fair-queue.ts';

interface Item {
  readonly owner: string;
  readonly name: string;
  readonly turns?: number;
}

function queueOf(items: readonly Item[]): FairQueue<string, Item> {
  const queue = new FairQueue<string, Item>(10_000, () => undefined);
  for (const item of items) queue.add(item);
  return queue;
}

function takeAll(queue: FairQueue<string, Item>): string[] {
  const names: string[] = [];
  for (let item = queue.take(() => true); item !== undefined; item = queue.take(() => true)) {
    names.push(item.name);
  }
  return names;
}

it('owners take turns, each in its own order', () => {
  const bulk = [1, 2, 3].map((n) => ({ owner: 'bulk', name: `bulk ${n}` }));
  const queue = queueOf([...bulk, { owner: 'other', name: 'other' }]);
  expect(takeAll(queue)).toEqual(['bulk 1', 'other', 'bulk 2', 'bulk 3']);
});

it('after an item that takes several turns its owner waits until others had as many', () => {
  const large = [1, 2].map((n) => ({ owner: 'large', name: `large ${n}`, turns: 4 }));
  const small = [1, 2, 3, 4, 5].map((n) => ({ owner: 'small', name: `small ${n}` }));
  expect(takeAll(queueOf([...large, ...small]))).toEqual([
    'large 1',
    ...['small 1', 'small 2', 'small 3', 'small 4'],
    'large 2',
    'small 5',
  ]);
});

it('nobody waits for an owner of whom nothing can be taken', () => {
  const queue = queueOf([
    { owner: 'large', name: 'large 1', turns: 16 },
    { owner: 'large', name: 'large 2' },
    { owner: 'stuck', name: 'stuck' },
  ]);
  const take = (): string | undefined => queue.take(({ owner }) => owner !== 'stuck')?.name;
  expect([take(), take(), take()]).toEqual(['large 1', 'large 2', undefined]);
  expect(queue.all().map(({ name }) => name)).toEqual(['stuck']);
});

it('everything comes out once, in the order of its owner', () => {
  const item = fc.record({
    owner: fc.constantFrom('a', 'b', 'c'),
    turns: fc.integer({ min: 1, max: 16 }),
  });
  fc.assert(
    fc.property(fc.array(item, { maxLength: 60 }), (made) => {
      const items = made.map((each, at) => ({ ...each, name: `${each.owner} ${at}` }));
      const out = takeAll(queueOf(items));
      for (const owner of ['a', 'b', 'c']) {
        const own = items.filter((each) => each.owner === owner).map(({ name }) => name);
        expect(out.filter((name) => name.startsWith(owner))).toEqual(own);
      }
      expect(out).toHaveLength(items.length);
    }),
  );
});
