// Names of several servers behind one endpoint: each leads back to its own, whatever the servers
// list and in whatever order they stand (issue 4).
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { finished } from '../../src/base/steps.ts';
import {
  exposeNames,
  type NamedMember,
  type NamingOptions,
  type PrefixMode,
} from '../../src/catalog/names.ts';
import { runs } from '../support/runs.ts';

const RUNS = { numRuns: runs(1_000) };
const VALID = /^[A-Za-z0-9_-]{1,64}$/;

// Few keys and few pieces, so that things collide often.
const key = fc.oneof(
  fc.constantFrom('a', 'b', 'a-b', 'git', '3d', 'k'.repeat(32)),
  fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,31}$/),
);
const piece = fc.constantFrom('a', 'b', 'git', '__', '_', '-', '.', 'é', '💥', ' ', '\ud800');
const name = fc.oneof(
  fc.array(piece, { maxLength: 5 }).map((pieces) => pieces.join('')),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom('search', 't'.repeat(60), 't'.repeat(128), `${'t'.repeat(127)}u`),
);
const members = fc
  .uniqueArray(fc.record({ key, names: fc.array(name, { maxLength: 8 }) }), {
    minLength: 2,
    maxLength: 6,
    selector: (member) => member.key,
  })
  // One server may list what the others are shown as.
  .chain((list) =>
    fc.record({
      list: fc.constant(list),
      copied: fc.constantFrom<PrefixMode>('always', 'onConflict', 'never'),
      at: fc.nat(list.length - 1),
    }),
  )
  .map(({ list, copied, at }): readonly NamedMember[] => {
    const table = finished(exposeNames(list, { prefix: copied, separator: '__' }));
    const shown = list.flatMap(({ key: owner, names }) =>
      names.flatMap((one) => table.exposed(owner, one) ?? []),
    );
    return list.map((member, i) =>
      i === at ? { ...member, names: [...member.names, ...shown] } : member,
    );
  });
const options = fc.record({
  prefix: fc.constantFrom<PrefixMode>('always', 'never', 'onConflict'),
  separator: fc.constantFrom('__', '-', '_'),
}) satisfies fc.Arbitrary<NamingOptions>;

test('every name is valid, its own, and leads back', () => {
  fc.assert(
    fc.property(members, options, (list, how) => {
      const table = finished(exposeNames(list, how));
      const seen = new Set<string>();
      for (const { key: owner, names } of list) {
        for (const one of new Set(names)) {
          const exposed = table.exposed(owner, one);
          const withheld = table.withheld.find((w) => w.key === owner && w.name === one);
          expect(exposed === undefined).toBe(withheld !== undefined);
          if (exposed === undefined) continue;
          expect(exposed).toMatch(VALID);
          expect(seen.has(exposed)).toBe(false);
          seen.add(exposed);
          expect(table.owner(exposed)).toEqual({ key: owner, name: one });
        }
      }
      expect(table.size).toBe(seen.size);
      expect(how.prefix === 'never' || table.withheld.length === 0).toBe(true);
    }),
    RUNS,
  );
});

test('the order of servers and of their lists changes no name', () => {
  const prefixed = options.filter(({ prefix }) => prefix !== 'never');
  fc.assert(
    fc.property(members, prefixed, fc.infiniteStream(fc.nat()), (list, how, random) => {
      const shuffled = shuffle(list, random).map((member) => ({
        ...member,
        names: shuffle(member.names, random),
      }));
      const [left, right] = [
        finished(exposeNames(list, how)),
        finished(exposeNames(shuffled, how)),
      ];
      for (const { key: owner, names } of list) {
        for (const one of names) expect(right.exposed(owner, one)).toBe(left.exposed(owner, one));
      }
    }),
    RUNS,
  );
});

test('what is never prefixed stays with the first server that has it', () => {
  fc.assert(
    fc.property(members, (list) => {
      const table = finished(exposeNames(list, { prefix: 'never', separator: '__' }));
      for (const { key: owner, name: one, keptBy } of table.withheld) {
        const first = list.find(({ names }) => names.includes(one));
        expect(first?.key).toBe(keptBy);
        expect(owner).not.toBe(keptBy);
        expect(table.exposed(keptBy, one)).toBeDefined();
      }
    }),
    RUNS,
  );
});

function shuffle<T>(items: readonly T[], random: Iterator<number>): T[] {
  return items
    .map((item) => ({ item, rank: Number(random.next().value) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}
