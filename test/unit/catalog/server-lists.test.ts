import { describe, expect, it, vi } from 'vitest';
import { ServerLists } from '../../../src/catalog/server-lists.ts';
import type { Frame } from '../../../src/jsonrpc/frame.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import { jsonBytes } from '../../../src/jsonrpc/serialize.ts';
import type { Logger } from '../../../src/observe/logger.ts';
import type { Seat } from '../../../src/ports/seat.ts';

type Answer = Frame | undefined;

function page(names: readonly string[], nextCursor?: string): Frame {
  const tools = names.map((name) => ({ name }));
  return scan(jsonBytes({ jsonrpc: '2.0', id: 1, result: { tools, nextCursor } }));
}

/** A place at a server whose pages a test gives. */
function place(list: (cursor: string | undefined) => Promise<Answer>) {
  let key = {};
  const seat = {
    isDown: false,
    identity: { era: 'legacy', capabilities: { tools: { listChanged: true } } },
    running: () => Promise.resolve(),
    listKey: () => key,
    list: vi.fn((_method: string, cursor: string | undefined) => list(cursor)),
  };
  const changes = (): void => {
    key = {};
  };
  return { seat: seat as unknown as Seat & { list: typeof seat.list }, changes };
}

function lists(): ServerLists {
  return new ServerLists('a', { warn: () => undefined } as unknown as Logger);
}

function namesIn(list: { entries: readonly { name: string }[] } | undefined): string[] {
  return (list?.entries ?? []).map(({ name }) => name);
}

describe('the lists of a server', () => {
  it('have all pages, those after an empty cursor too', async () => {
    const { seat } = place(async (cursor) => {
      if (cursor === undefined) return page(['x'], '');
      return cursor === '' ? page(['y'], 'end') : page(['z']);
    });
    expect(namesIn(await lists().read(seat, 'tools/list'))).toEqual(['x', 'y', 'z']);
  });

  it('end where the pages go round', async () => {
    const { seat } = place(async () => page(['x'], 'again'));
    expect(namesIn(await lists().read(seat, 'tools/list'))).toEqual(['x', 'x']);
  });

  it('end where a cursor is longer than any server sends', async () => {
    const { seat } = place(async () => page(['x'], 'c'.repeat(20_000)));
    expect(namesIn(await lists().read(seat, 'tools/list'))).toEqual(['x']);
    expect(seat.list).toHaveBeenCalledTimes(1);
  });

  it('have no entries with a name that no call could carry, and the log says so', async () => {
    const { seat } = place(async () => page(['x', 'n'.repeat(1_024), 'n'.repeat(1_025)]));
    const warn = vi.fn();
    const all = new ServerLists('a', { warn } as unknown as Logger);
    expect(namesIn(await all.read(seat, 'tools/list'))).toEqual(['x', 'n'.repeat(1_024)]);
    expect(warn.mock.calls).toEqual([
      [expect.objectContaining({ entries: 1, maxLength: 1_024 }), expect.any(String)],
    ]);
  });

  it('are read once for several readers, and again after a change', async () => {
    const { seat, changes } = place(async () => page(['x']));
    const all = lists();
    await Promise.all([all.read(seat, 'tools/list'), all.read(seat, 'tools/list')]);
    expect(seat.list).toHaveBeenCalledTimes(1);
    expect(namesIn(all.current(seat, 'tools/list'))).toEqual(['x']);
    changes();
    expect(all.current(seat, 'tools/list')).toBeUndefined();
    expect(namesIn(all.last('tools/list'))).toEqual(['x']);
  });

  it('keep the pages that came when a later one does not, and are read again soon', async () => {
    const { seat } = place(async (cursor) =>
      cursor === undefined ? page(['x'], 'more') : undefined,
    );
    const all = lists();
    expect(namesIn(await all.read(seat, 'tools/list'))).toEqual(['x']);
    expect(all.current(seat, 'tools/list')?.isPart).toBe(true);
  });

  it('are not replaced by an older one that comes later', async () => {
    const waiting: ((answer: Answer) => void)[] = [];
    const { seat, changes } = place(() => new Promise((resolve) => waiting.push(resolve)));
    const all = lists();
    const old = all.read(seat, 'tools/list');
    await vi.waitFor(() => expect(waiting).toHaveLength(1));
    changes();
    const now = all.read(seat, 'tools/list');
    await vi.waitFor(() => expect(waiting).toHaveLength(2));
    waiting[1]?.(page(['new']));
    await now;
    waiting[0]?.(page(['old']));
    await old;
    expect(namesIn(all.last('tools/list'))).toEqual(['new']);
  });

  it('of a server that gives none are not known', async () => {
    const { seat } = place(async () => undefined);
    expect(await lists().read(seat, 'tools/list')).toBeUndefined();
  });
});
