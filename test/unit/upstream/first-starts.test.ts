// A server that has never been ready is given up after a number of tries, one that has been never.
import { expect, it } from 'vitest';
import { LastEnd } from '../../../src/upstream/end-reasons.ts';
import { FirstStarts } from '../../../src/upstream/restarts.ts';

it('gives up once, with what was said last', () => {
  const told: string[] = [];
  const end = new LastEnd({
    common: { exposesDetails: true },
    firstStarts: new FirstStarts(3, (why) => told.push(why)),
  });
  end.note('exit_1', 'one');
  end.note('exit_1', 'two');
  expect(told).toEqual([]);
  end.note('exit_2', 'three');
  end.note('exit_2', 'four');
  expect(told).toEqual(['exit_2; it last said: three']);
});

it('never gives up what was ready, in any of its instances', () => {
  const told: string[] = [];
  const firstStarts = new FirstStarts(2, (why) => told.push(why));
  const [one, other] = [1, 2].map(
    () => new LastEnd({ common: { exposesDetails: true }, firstStarts }),
  );
  one?.note('exit_1', '');
  other?.forget();
  for (let count = 0; count < 10; count++) one?.note('exit_1', '');
  expect(told).toEqual([]);
});
