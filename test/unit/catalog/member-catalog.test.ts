import { expect, it, vi } from 'vitest';
import { finished } from '../../../src/base/steps.ts';
import { MemberCatalog } from '../../../src/catalog/member-catalog.ts';
import { Pins } from '../../../src/catalog/pins/pins.ts';
import type { ServerList } from '../../../src/catalog/server-list.ts';
import type { Logger } from '../../../src/observe/logger.ts';

const MANY = 10_000;

it('Ten thousand tools that nobody has accepted make one line of the log', () => {
  const warn = vi.fn();
  const catalog = new MemberCatalog(
    { key: 'a', shaping: [], pin: 'enforce' },
    { pins: new Pins(new Map()), logger: { warn } as unknown as Logger },
  );
  const entries = Array.from({ length: MANY }, (_, index) => {
    const name = `t${index}`;
    return { name, text: Buffer.from(JSON.stringify({ name })) };
  });
  const list: ServerList = { entries, ttlMs: 0, isPublic: true };
  expect(finished(catalog.shown('tools/list', list))).toEqual([]);
  expect(warn).toHaveBeenCalledOnce();
  expect(warn.mock.calls[0]?.[0]).toMatchObject({ server: 'a', count: MANY, isWithheld: true });
  expect(warn.mock.calls[0]?.[0].first).toHaveLength(10);
});
