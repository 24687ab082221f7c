/**
 * How much of what a remote server sends is read in one turn of the event loop, counted in turns.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LEAST_COST, TurnQuota } from '../../../../src/base/turns.ts';
import { collect, readEvents } from '../../../../src/upstream/remote/answer-body.ts';
import { anyOwner } from '../../../support/held.ts';

const LIMIT = 64 * 1024;
const CHUNK = 64 * 1024;
let turn = 0;
let isOver = false;

function count(): void {
  turn++;
  if (!isOver) setImmediate(count);
}

beforeEach(() => {
  turn = 0;
  isOver = false;
  setImmediate(count);
});
afterEach(() => {
  isOver = true;
});

/** A server that has sent all of it already. */
async function* sent(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) yield await Promise.resolve(chunk);
}

const filled = (text: string): Buffer => Buffer.from(text.repeat(Math.ceil(CHUNK / text.length)));

/** Most events of one turn, and how many turns it took. */
async function read(quota: TurnQuota, chunks: readonly Buffer[]) {
  const perTurn = new Map<number, number>();
  const note = (): void => {
    perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1);
  };
  const position = { lastId: undefined, retryMs: undefined };
  await readEvents({ body: sent(chunks), quota, owner: anyOwner() }, 1_000_000, position, {
    message: note,
    oversize: note,
    other: note,
  });
  const counts = [...perTurn.values()];
  return { most: Math.max(0, ...counts), all: counts.reduce((sum, n) => sum + n, 0), turns: turn };
}

it.each(['data:x\n\n', 'event:y\ndata:x\n\n', 'data:x\r\n\r\n'])(
  'events as %j are taken a few at a time, and all of them',
  async (text) => {
    const { most, all } = await read(new TurnQuota(LIMIT), [filled(text), filled(text)]);
    expect(all).toBe(2 * Math.ceil(CHUNK / text.length));
    expect(most).toBeLessThanOrEqual(LIMIT / LEAST_COST);
  },
);

it.each(['\n', ':x\n', 'data:x\n', 'id:1\n', 'retry: 1\n'])(
  'lines as %j take as many turns as they are many',
  async (text) => {
    const chunk = filled(text);
    const { turns } = await read(new TurnQuota(LIMIT), [chunk]);
    expect(turns).toBeGreaterThanOrEqual(chunk.length / text.length / (LIMIT / LEAST_COST) - 1);
  },
);

it('a server that floods one stream does not keep another of its streams waiting', async () => {
  const server = new TurnQuota(4 * LIMIT);
  const flood = read(
    new TurnQuota(LIMIT, server),
    Array.from({ length: 8 }, () => filled('data:x\n\n')),
  );
  await read(new TurnQuota(LIMIT, server), [Buffer.from('data:answer\n\n')]);
  expect(turn).toBeLessThanOrEqual(2);
  await flood;
});

it('a large answer is gathered over several turns', async () => {
  const chunks = Array.from({ length: 16 }, () => filled('x'));
  const bytes = await collect(
    { body: sent(chunks), quota: new TurnQuota(LIMIT), owner: anyOwner() },
    2_000_000,
  );
  expect(bytes).toHaveLength(16 * CHUNK);
  expect(turn).toBeGreaterThanOrEqual(15);
});
