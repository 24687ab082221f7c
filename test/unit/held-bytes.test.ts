import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { HELD_KINDS, HeldBytes, heldLimits } from '../../src/base/held-bytes.ts';

const LIMITS = { limitBytes: 1_000, shareBytes: 400 };
const ann = { key: 'ann', kind: 'key' };
const bob = { key: 'bob', kind: 'key' };

const MIB = 1024 ** 2;

describe('The limits of held bytes', () => {
  it.each([
    ['512 MiB', 512 * MIB, 64 * MIB, 16 * MIB],
    ['1 GiB', 1_024 * MIB, 128 * MIB, 32 * MIB],
    ['little', 64 * MIB, 32 * MIB, 8 * MIB],
    ['much', 64 * 1_024 * MIB, 1_024 * MIB, 256 * MIB],
  ])('follow the memory that there is: %s', (_, memory, limitBytes, shareBytes) => {
    expect(heldLimits(memory, 4 * MIB)).toEqual({ limitBytes, shareBytes });
  });

  it('always let a client have two of the largest messages, and all clients four', () => {
    expect(heldLimits(64 * MIB, 16 * MIB)).toEqual({
      limitBytes: 64 * MIB,
      shareBytes: 32 * MIB,
    });
  });

  it('are what somebody has set', () => {
    expect(heldLimits(64 * 1_024 * MIB, 4 * MIB, 10 * MIB)).toEqual({
      limitBytes: 10 * MIB,
      shareBytes: 8 * MIB,
    });
  });
});

describe('The budget of held bytes', () => {
  it('refuses an owner beyond its share, and nobody else', () => {
    const held = new HeldBytes(LIMITS);
    held.client(ann).add('call', 400);
    expect(held.client(ann).hasRoom(1)).toBe(false);
    expect(held.client(bob).hasRoom(400)).toBe(true);
  });

  it('lets clients that nobody authenticated have all of it', () => {
    const held = new HeldBytes(LIMITS);
    expect(held.client({ key: 'anonymous' }).hasRoom(1_000)).toBe(true);
    expect(held.client({ key: 'anonymous' }).hasRoom(1_001)).toBe(false);
  });

  it('cuts the oldest large holding of the largest owner when the whole is exceeded', () => {
    const told = vi.fn();
    const held = new HeldBytes(LIMITS, told);
    const cut = { small: vi.fn(), old: vi.fn(), recent: vi.fn(), other: vi.fn() };
    held.client(ann).hold('unread', 50, cut.small);
    held.client(ann).hold('unread', 290, cut.old);
    held.client(ann).hold('unread', 310, cut.recent);
    held.client(bob).hold('unread', 360, cut.other);
    expect(cut.old).toHaveBeenCalledOnce();
    for (const spared of [cut.small, cut.recent, cut.other]) expect(spared).not.toHaveBeenCalled();
    expect(told).toHaveBeenCalledExactlyOnceWith('unread');
    expect(held.total).toBe(720);
  });

  it('counts an owner once, however many others come and go', () => {
    const held = new HeldBytes(LIMITS);
    held.client(ann).add('call', 300);
    const keep = held.client(bob).hold('call', 0, () => undefined);
    for (let i = 0; i < 5_000; i++) {
      const other = held.client({ key: `other-${i}`, kind: 'key' });
      other.add('call', 1);
      other.remove('call', 1);
    }
    keep.resize(200);
    expect(held.client(ann).bytes).toBe(300);
    expect(held.client(bob).bytes).toBe(200);
    expect(held.owners).toBe(2);
  });

  it('makes room for who holds less, and not for who would hold most', () => {
    const held = new HeldBytes({ limitBytes: 1_000, shareBytes: 1_000 });
    const cut = vi.fn();
    held.client(ann).hold('call', 900, cut);
    expect(held.client(ann).hasRoom(200)).toBe(false);
    expect(held.client(bob).hasRoom(950)).toBe(false);
    expect(cut).not.toHaveBeenCalled();
    expect(held.client(bob).hasRoom(200)).toBe(true);
    expect(cut).toHaveBeenCalledOnce();
  });

  it('gives a holding back once, however often it is released', () => {
    const held = new HeldBytes(LIMITS);
    const holding = held.server('files').hold('list', 100, () => undefined);
    holding.resize(250);
    expect(held.byKind.list).toBe(250);
    holding.release();
    holding.release();
    expect(held.total).toBe(0);
    expect(held.owners).toBe(0);
  });

  it('is what its holders hold, after any of their doings', () => {
    const step = fc.record({
      who: fc.constantFrom('a', 'b', 'c'),
      kind: fc.constantFrom(...HELD_KINDS),
      bytes: fc.integer({ min: 1, max: 500 }),
      gives: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const held = new HeldBytes(LIMITS);
        const open = new Map<{ release(): void }, number>();
        for (const { who, kind, bytes, gives } of steps) {
          const [first] = open.keys();
          if (gives && first !== undefined) {
            open.delete(first);
            first.release();
            continue;
          }
          const box: { holding?: { release(): void } } = {};
          let isCut = false;
          const holding = held.client({ key: who, kind: 'key' }).hold(kind, bytes, () => {
            isCut = true;
            if (box.holding !== undefined) open.delete(box.holding);
          });
          box.holding = holding;
          if (!isCut) open.set(holding, bytes);
        }
        const expected = [...open.values()].reduce((sum, bytes) => sum + bytes, 0);
        expect(held.total).toBe(expected);
        expect(held.total).toBeLessThanOrEqual(LIMITS.limitBytes);
        expect(Object.values(held.byKind).reduce((sum, bytes) => sum + bytes, 0)).toBe(expected);
        for (const holding of open.keys()) holding.release();
        expect(held.owners).toBe(0);
      }),
    );
  });
});
