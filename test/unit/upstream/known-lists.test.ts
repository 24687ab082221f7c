// What is kept of a server for its clients counts as held for it.
import { expect, it } from 'vitest';
import { HeldBytes } from '../../../src/base/held-bytes.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import { KnownLists } from '../../../src/upstream/known-lists.ts';

const listOf = (bytes: number) =>
  scan(
    Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"${'x'.repeat(bytes)}"}]}}`),
  );

it('counts with what the server said of itself, until it is closed', () => {
  const held = new HeldBytes({ limitBytes: 1_000_000, shareBytes: 1_000_000 });
  const known = new KnownLists(() => held.server('a'));
  known.introduced({ instructions: 'x'.repeat(10_000) });
  expect(held.byKind.list).toBeGreaterThan(10_000);
  known.introduced({ instructions: 'x'.repeat(5_000) });
  expect(held.byKind.list).toBeLessThan(6_000);
  known.remember('tools/list', listOf(100_000));
  known.remember('tools/list', listOf(200_000));
  expect(held.byKind.list).toBeGreaterThan(205_000);
  expect(held.byKind.list).toBeLessThan(207_000);
  known.close();
  known.remember('tools/list', listOf(100));
  known.introduced({});
  expect(held.total).toBe(0);
});

it('has to go when too much is held: the list counts as changed then', async () => {
  const held = new HeldBytes({ limitBytes: 1_000_000, shareBytes: 1_000_000 });
  const known = new KnownLists(() => held.server('a'));
  const list = listOf(500_000);
  known.remember('tools/list', list);
  const changed = () => known.changed(() => Promise.resolve(list));
  expect(await changed()).toEqual([]);
  held.client({ key: 'ann', kind: 'key' }).hold('call', 490_000, () => undefined);
  held.client({ key: 'bob', kind: 'key' }).hold('call', 100_000, () => undefined);
  expect(held.byKind.list).toBe(0);
  expect((await changed()).map(({ method }) => method)).toEqual([
    'notifications/tools/list_changed',
  ]);
});
