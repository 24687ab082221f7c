// What is remembered of a server's era, and for how long.
import { expect, it } from 'vitest';
import { EraSearch, KnownEra } from '../../../src/upstream/known-era.ts';

const searches = (count: number): EraSearch[] => {
  const known = new KnownEra();
  return Array.from({ length: count }, () => new EraSearch({ era: 'auto' }, known));
};

it('one that ended at the probe is started without it, also when its program changes each time', () => {
  const [search] = searches(1);
  expect(search?.begin('a').era).toBe('auto');
  expect(search?.explains('exit_5')).toBe(true);
  expect(search?.begin('b').era).toBe('legacy');
  // Whatever ends it now is a failure, and waits for its backoff.
  expect(search?.explains('exit_5')).toBe(false);
  search?.failed('exit_5');
  expect(search?.begin('c').era).toBe('auto');
});

it('what one instance found out, the others know, of the same version of the program only', () => {
  const [one, other] = searches(2);
  one?.begin('a');
  one?.found('legacy');
  expect(other?.begin('a').era).toBe('legacy');
  expect(other?.begin('b').era).toBe('auto');
});

it('it stays known when a start fails for another reason, or the server ends', () => {
  const [search] = searches(1);
  search?.begin('a');
  search?.found('legacy');
  search?.failed('SIGKILL');
  expect(search?.begin('a').era).toBe('legacy');
  search?.failed('exit_1');
  expect(search?.begin('a').era).toBe('legacy');
  search?.failed('initialize was refused: {}');
  expect(search?.begin('a').era).toBe('auto');
});
