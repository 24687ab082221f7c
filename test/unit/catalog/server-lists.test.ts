import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { HeldBytes } from '../../../src/base/held-bytes.ts';
import { onNextTurn } from '../../../src/base/turns.ts';
import { ServerLists } from '../../../src/catalog/server-lists.ts';
import type { Frame } from '../../../src/jsonrpc/frame.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import { jsonBytes } from '../../../src/jsonrpc/serialize.ts';
import type { Logger } from '../../../src/observe/logger.ts';
import type { Lease } from '../../../src/ports/lease.ts';
import { anyOwner } from '../../support/held.ts';

type Answer = Frame | undefined;

function page(names: readonly string[], nextCursor?: string): Frame {
  const tools = names.map((name) => ({ name }));
  return scan(jsonBytes({ jsonrpc: '2.0', id: 1, result: { tools, nextCursor } }));
}

/** A place at a server whose pages a test gives. */
function place(list: (cursor: string | undefined) => Promise<Answer>) {
  let key = {};
  const lease = {
    isDown: false,
    identity: { era: 'legacy', capabilities: { tools: { listChanged: true } } },
    running: () => Promise.resolve(),
    listKey: () => key,
    list: vi.fn((_method: string, cursor: string | undefined) => list(cursor)),
  };
  const changes = (): void => {
    key = {};
  };
  return { lease: lease as unknown as Lease & { list: typeof lease.list }, changes };
}

function lists(): ServerLists {
  return new ServerLists('a', { warn: () => undefined } as unknown as Logger, anyOwner());
}

function namesIn(list: { entries: readonly { name: string }[] } | undefined): string[] {
  return (list?.entries ?? []).map(({ name }) => name);
}

describe('the lists of a server', () => {
  it('have all pages, those after an empty cursor too', async () => {
    const { lease } = place(async (cursor) => {
      if (cursor === undefined) return page(['x'], '');
      return cursor === '' ? page(['y'], 'end') : page(['z']);
    });
    expect(namesIn(await lists().read(lease, 'tools/list'))).toEqual(['x', 'y', 'z']);
  });

  it('end where the pages go round', async () => {
    const { lease } = place(async () => page(['x'], 'again'));
    expect(namesIn(await lists().read(lease, 'tools/list'))).toEqual(['x', 'x']);
  });

  it('end where a cursor is longer than any server sends', async () => {
    const { lease } = place(async () => page(['x'], 'c'.repeat(20_000)));
    expect(namesIn(await lists().read(lease, 'tools/list'))).toEqual(['x']);
    expect(lease.list).toHaveBeenCalledTimes(1);
  });

  it('have no entries with a name that no call could carry, and the log says so', async () => {
    const { lease } = place(async () => page(['x', 'n'.repeat(1_024), 'n'.repeat(1_025)]));
    const warn = vi.fn();
    const all = new ServerLists('a', { warn } as unknown as Logger, anyOwner());
    expect(namesIn(await all.read(lease, 'tools/list'))).toEqual(['x', 'n'.repeat(1_024)]);
    expect(warn.mock.calls).toEqual([
      [expect.objectContaining({ entries: 1, maxLength: 1_024 }), expect.any(String)],
    ]);
  });

  it('are cut where they are too long, in several turns, and nothing is made of the rest', async () => {
    const count = 200_000;
    const text = `{"jsonrpc":"2.0","id":1,"result":{"tools":[${'{"name":"t"},'.repeat(count)}{"name":"last"}]}}`;
    const { lease } = place(async () => scan(Buffer.from(text)));
    const warn = vi.fn();
    const parsed = vi.spyOn(JSON, 'parse');
    onTestFinished(() => parsed.mockRestore());
    let turns = 0;
    let isOver = false;
    const turn = (): void => {
      turns++;
      if (!isOver) onNextTurn(turn);
    };
    onNextTurn(turn);
    const all = new ServerLists('a', { warn } as unknown as Logger, anyOwner());
    const list = await all.read(lease, 'tools/list');
    isOver = true;
    expect(list?.entries).toHaveLength(10_000);
    expect(warn.mock.calls).toEqual([
      [expect.objectContaining({ entries: 10_000 }), expect.stringContaining('too long')],
    ]);
    expect(turns).toBeGreaterThanOrEqual(10);
    expect(parsed).not.toHaveBeenCalled();
  });

  it('have nothing of a list of empty objects, however many there are', async () => {
    const text = `{"jsonrpc":"2.0","id":1,"result":{"tools":[${'{},'.repeat(300_000)}{}]}}`;
    const { lease } = place(async () => scan(Buffer.from(text)));
    const warn = vi.fn();
    const list = await new ServerLists('a', { warn } as unknown as Logger, anyOwner()).read(
      lease,
      'tools/list',
    );
    expect(list?.entries).toEqual([]);
    expect(warn).toHaveBeenCalledOnce();
  });

  it('have no entries that are larger than anything that describes a tool', async () => {
    const text = `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"x"},{"name":"y","a":[${'{},'.repeat(800_000)}{}]}],"ttlMs":5,"cacheScope":"public"}}`;
    const { lease } = place(async () => scan(Buffer.from(text)));
    const warn = vi.fn();
    const list = await new ServerLists('a', { warn } as unknown as Logger, anyOwner()).read(
      lease,
      'tools/list',
    );
    expect(namesIn(list)).toEqual(['x']);
    expect(list).toMatchObject({ ttlMs: 5, isPublic: true });
    expect(warn.mock.calls).toEqual([
      [expect.objectContaining({ entries: 1 }), expect.stringContaining('too large')],
    ]);
  });

  it('say of themselves how long they hold and for whom, in their last members', async () => {
    const text =
      '{"jsonrpc":"2.0","id":1,"result":{"ttlMs":1,"tools":[{"name":"no"}],"tools":[{"name":"a","name":"\\u0062"},{"name":1},[],3],"ttlMs":50,"cacheScope":"public","nextCursor":7}}';
    const { lease } = place(async () => scan(Buffer.from(text)));
    const list = await lists().read(lease, 'tools/list');
    expect(list).toMatchObject({ ttlMs: 50, isPublic: true });
    expect(list?.entries.map(({ name, text: entry }) => [name, entry.toString()])).toEqual([
      ['b', '{"name":"a","name":"\\u0062","inputSchema":{"type":"object"}}'],
    ]);
  });

  it('count as held, and are read again when they had to go', async () => {
    const held = new HeldBytes({ limitBytes: 1_000_000, shareBytes: 1_000_000 });
    const { lease } = place(async () => page(['x'.repeat(1_000), ...new Array(1_000).fill('y')]));
    const all = new ServerLists('a', { warn: vi.fn() } as unknown as Logger, () =>
      held.server('a'),
    );
    await all.read(lease, 'tools/list');
    expect(held.byKind.list).toBeGreaterThan(256_000);
    held.client({ key: 'ann', kind: 'key' }).add('call', 900_000);
    held.client({ key: 'bob', kind: 'key' }).hold('call', 1, () => undefined);
    expect(held.byKind.list).toBe(0);
    expect(all.current(lease, 'tools/list')).toBeUndefined();
    expect(all.last('tools/list')).toBeUndefined();
    held.client({ key: 'ann', kind: 'key' }).remove('call', 900_000);
    expect(namesIn(await all.read(lease, 'tools/list'))).toHaveLength(1_001);
    expect(all.current(lease, 'tools/list')).toBeDefined();
  });

  it('are not given when there is no room for them, and the log says so', async () => {
    const held = new HeldBytes({ limitBytes: 100_000, shareBytes: 100_000 });
    const warn = vi.fn();
    const all = new ServerLists('a', { warn } as unknown as Logger, () => held.server('a'));
    const { lease } = place(async () => page(new Array(1_000).fill('y')));
    expect(await all.read(lease, 'tools/list')).toBeUndefined();
    expect(warn.mock.calls).toEqual([
      [expect.objectContaining({ method: 'tools/list' }), expect.stringContaining('heldBytes')],
    ]);
    expect(held.total).toBe(0);
  });

  it('that are equal count once, and old ones go when there are many', async () => {
    const held = new HeldBytes({ limitBytes: 10_000_000, shareBytes: 10_000_000 });
    const all = new ServerLists('a', { warn: vi.fn() } as unknown as Logger, () =>
      held.server('a'),
    );
    let names = ['x'];
    const { lease, changes } = place(async () => page(names));
    await all.read(lease, 'tools/list');
    const one = held.byKind.list;
    changes();
    await all.read(lease, 'tools/list');
    expect(held.byKind.list).toBe(one);
    for (let at = 0; at < 1_200; at++) {
      names = [`x${at}`];
      changes();
      await all.read(lease, 'tools/list');
    }
    expect(held.byKind.list).toBeLessThan(1_100 * one);
    expect(held.byKind.list).toBeGreaterThan(900 * one);
  });

  it('are read once for several readers, and again after a change', async () => {
    const { lease, changes } = place(async () => page(['x']));
    const all = lists();
    await Promise.all([all.read(lease, 'tools/list'), all.read(lease, 'tools/list')]);
    expect(lease.list).toHaveBeenCalledTimes(1);
    expect(namesIn(all.current(lease, 'tools/list'))).toEqual(['x']);
    changes();
    expect(all.current(lease, 'tools/list')).toBeUndefined();
    expect(namesIn(all.last('tools/list'))).toEqual(['x']);
  });

  it('keep the pages that came when a later one does not, and are read again soon', async () => {
    const { lease } = place(async (cursor) =>
      cursor === undefined ? page(['x'], 'more') : undefined,
    );
    const all = lists();
    expect(namesIn(await all.read(lease, 'tools/list'))).toEqual(['x']);
    expect(all.current(lease, 'tools/list')?.isPart).toBe(true);
  });

  it('are not replaced by an older one that comes later', async () => {
    const waiting: ((answer: Answer) => void)[] = [];
    const { lease, changes } = place(() => new Promise((resolve) => waiting.push(resolve)));
    const all = lists();
    const old = all.read(lease, 'tools/list');
    await vi.waitFor(() => expect(waiting).toHaveLength(1));
    changes();
    const now = all.read(lease, 'tools/list');
    await vi.waitFor(() => expect(waiting).toHaveLength(2));
    waiting[1]?.(page(['new']));
    await now;
    waiting[0]?.(page(['old']));
    await old;
    expect(namesIn(all.last('tools/list'))).toEqual(['new']);
  });

  it('of a server that gives none are not known', async () => {
    const { lease } = place(async () => undefined);
    expect(await lists().read(lease, 'tools/list')).toBeUndefined();
  });
});
