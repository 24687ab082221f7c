/** How much of long lists is looked at to name what is in them, and to give a page. */
import { expect, it, vi } from 'vitest';
import { Composer } from '../../../src/catalog/composer.ts';
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

it('texts of tools are made for the pages that are asked for', () => {
  const catalog = new MemberCatalog(
    { key: 'a', shaping: [], pin: 'off' },
    { pins: new Pins(new Map()), logger },
  );
  const composer = new Composer([catalog], { prefix: 'always', separator: '__' }, logger);
  const names = Array.from({ length: 5_000 }, (_, at) => `t${at}`);
  const list: ServerList = {
    entries: names.map((name) => ({ name, text: text(name) })),
    ttlMs: 0,
    isPublic: true,
  };
  const all = names.reduce((sum, name) => sum + text(name).length, 0);
  let page = '';
  const scanned = scannedBytes(() => {
    const listing = composer.named('tools/list', [{ list, era: 'legacy' }]);
    expect(listing.find('a__t4999')).toMatchObject({ upstream: 't4999', member: 0 });
    page = String(listing.page(0, 'modern'));
  });
  const { tools, nextCursor } = JSON.parse(page);
  expect(tools).toHaveLength(1_000);
  expect(tools[999]).toEqual({ name: 'a__t999', inputSchema: { type: 'object' } });
  expect(nextCursor).toBeDefined();
  expect(scanned).toBeLessThan(all);
});
