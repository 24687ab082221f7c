// What comes from a remote server counts as held for it until it is whole.
import { expect, it } from 'vitest';
import { HeldBytes } from '../../../../src/base/held-bytes.ts';
import { TurnQuota } from '../../../../src/base/turns.ts';
import { collect, readEvents } from '../../../../src/upstream/remote/answer-body.ts';

const MIB = 1024 ** 2;
const PIECE = Buffer.alloc(MIB, 'x');
const room = () => new HeldBytes({ limitBytes: 8 * MIB, shareBytes: 8 * MIB });

/** A body that comes in pieces; `between` is told how many have been taken. */
function bodyOf(held: HeldBytes, pieces: readonly Buffer[], between: (taken: number) => void) {
  async function* body(): AsyncGenerator<Buffer> {
    for (const [at, piece] of pieces.entries()) {
      between(at);
      yield await Promise.resolve(piece);
    }
    between(pieces.length);
  }
  return { body: body(), quota: new TurnQuota(64 * MIB), owner: () => held.server('far') };
}

it('as one body', async () => {
  const held = room();
  const seen: number[] = [];
  const body = bodyOf(held, [PIECE, PIECE, PIECE], () => seen.push(held.byKind.from_server));
  expect(await collect(body, 8 * MIB)).toHaveLength(3 * MIB);
  expect(seen).toEqual([0, MIB, 2 * MIB, 3 * MIB]);
  expect(held.total).toBe(0);
});

it('as an event of a stream', async () => {
  const held = room();
  const seen: number[] = [];
  const messages: number[] = [];
  const pieces = [Buffer.from('data: '), PIECE, PIECE, Buffer.from('\n\n')];
  await readEvents(
    bodyOf(held, pieces, () => seen.push(held.byKind.from_server)),
    8 * MIB,
    { lastId: undefined, retryMs: undefined },
    { message: (bytes) => messages.push(bytes.length), oversize: () => expect.fail('too long') },
  );
  expect(seen).toEqual([0, 0, MIB + 6, 2 * MIB + 6, 0]);
  expect(messages).toEqual([2 * MIB]);
  expect(held.total).toBe(0);
});

it('and is given up when the whole is exceeded and the server holds most', async () => {
  const held = room();
  const body = bodyOf(held, [PIECE, PIECE, PIECE], (taken) => {
    if (taken === 2)
      held.client({ key: 'ann', kind: 'key' }).hold('call', 7 * MIB, () => undefined);
  });
  held.client({ key: 'bob', kind: 'key' }).add('call', 1);
  const failure = collect({ ...body, owner: () => held.server('far') }, 8 * MIB);
  // Ann's call is larger: it has to go, and the body is whole.
  expect(await failure).toHaveLength(3 * MIB);
  const greedy = bodyOf(held, new Array(9).fill(PIECE), () => undefined);
  await expect(collect(greedy, 16 * MIB)).rejects.toMatchObject({
    failure: { reason: 'overloaded' },
  });
  expect(held.byKind.from_server).toBe(0);
});

it('costs a stream only the event that there is no room for', async () => {
  const held = room();
  const seen: string[] = [];
  const pieces = [Buffer.from('data: {"id":1'), ...new Array(9).fill(PIECE)];
  await readEvents(
    bodyOf(held, [...pieces, Buffer.from('\n\ndata: next\n\n')], () => undefined),
    16 * MIB,
    { lastId: undefined, retryMs: undefined },
    {
      message: (bytes) => seen.push(bytes.toString()),
      oversize: (_head, _tail, length, isForRoom) => seen.push(`${length} ${isForRoom}`),
    },
  );
  expect(seen).toEqual([`${9 * MIB + 7} true`, 'next']);
  expect(held.total).toBe(0);
});
