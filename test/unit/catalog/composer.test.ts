/** How much of long lists is looked at to name what is in them, and to give a page. */
import { expect, it, vi } from 'vitest';
import { finished } from '../../../src/base/steps.ts';
import { nextTurn } from '../../../src/base/turns.ts';
import { Composer, type MemberList } from '../../../src/catalog/composer.ts';
import { MemberCatalog } from '../../../src/catalog/member-catalog.ts';
import { Pins } from '../../../src/catalog/pins/pins.ts';
import type { ServerList } from '../../../src/catalog/server-list.ts';
import type { Logger } from '../../../src/observe/logger.ts';
import { scannedBytes } from '../../support/scanned-bytes.ts';

vi.mock('../../../src/jsonrpc/json-text.ts', async (original) => {
  const { counting } = await import('../../support/scanned-bytes.ts');
  return counting(original);
});

const logger = { warn: () => undefined } as unknown as Logger;
const text = (name: string): Buffer =>
  Buffer.from(JSON.stringify({ name, execution: {}, inputSchema: { type: 'object' } }));

function composerOf(...keys: string[]): Composer {
  const parts = { pins: new Pins(new Map()), logger };
  const catalogs = keys.map((key) => new MemberCatalog({ key, shaping: [], pin: 'off' }, parts));
  return new Composer(catalogs, { prefix: 'onConflict', separator: '__' }, logger);
}

it('texts of tools are made for the pages that are asked for', async () => {
  const composer = composerOf('a');
  const names = Array.from({ length: 5_000 }, (_, at) => `t${at}`);
  const list: ServerList = {
    entries: names.map((name) => ({ name, text: text(name) })),
    ttlMs: 0,
    isPublic: true,
  };
  const all = names.reduce((sum, name) => sum + text(name).length, 0);
  const listing = await composer.named('tools/list', [{ list, era: 'legacy' }]);
  expect(listing.find('t4999')).toMatchObject({ upstream: 't4999', member: 0 });
  let page = '';
  const scanned = scannedBytes(() => {
    page = String(finished(listing.page(0, 'modern')));
  });
  const { tools, nextCursor } = JSON.parse(page);
  expect(tools).toHaveLength(1_000);
  expect(tools[999]).toEqual({ name: 't999', inputSchema: { type: 'object' } });
  expect(nextCursor).toBeDefined();
  expect(scanned).toBeLessThan(all);
});

it('ten thousand tools are composed in many turns, and once', async () => {
  const composer = composerOf('a', 'b');
  const [first, second] = ['a', 'b'].map((server): MemberList => {
    const entries = Array.from({ length: 10_000 }, (_, at) => {
      const name = `${server} ${at}`;
      return { name, text: text(name) };
    });
    return { list: { entries, ttlMs: 0, isPublic: true }, era: 'legacy' };
  });
  if (first === undefined || second === undefined) throw new Error('no lists');
  const making = composer.named('tools/list', [first, second]);
  expect(composer.named('tools/list', [first, second])).toBe(making);
  let turns = 0;
  let isMade = false;
  void Promise.resolve(making).then(() => {
    isMade = true;
  });
  for (; !isMade; turns++) await nextTurn();
  // No turn looks at more than a thousand entries, for one of the things that are found out of each.
  expect(turns).toBeGreaterThan(100);
  expect(composer.named('tools/list', [first, second])).toBe(await making);
});
