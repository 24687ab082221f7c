// A sender that floods: how much of it is worked off in one turn of the event loop.
import { describe, expect, it } from 'vitest';
import { LEAST_COST, onNextTurn, TurnQuota } from '../../../src/base/turns.ts';
import {
  ContentLengthFraming,
  contentLengthHeader,
} from '../../../src/jsonrpc/content-length-framing.ts';
import { LineFraming } from '../../../src/jsonrpc/line-framing.ts';

const TURN = 100 * LEAST_COST;
const nextTurn = (): Promise<void> => new Promise((resolve) => onNextTurn(resolve));

const never = (): never => expect.fail('nothing of this kind was sent');

interface Framing {
  push(chunk: Buffer): boolean;
  goOn(): boolean;
}

/** Works a chunk off. @returns what was handed on in each turn */
async function turnsFor(chunk: Buffer, create: (count: () => void) => Framing): Promise<number[]> {
  const turns: number[] = [];
  let count = 0;
  const framing = create(() => {
    count++;
  });
  await nextTurn();
  let isDone = framing.push(chunk);
  for (;;) {
    turns.push(count);
    count = 0;
    if (isDone) return turns;
    await nextTurn();
    isDone = framing.goOn();
  }
}

const lines = (count: () => void): Framing =>
  new LineFraming(
    1_000_000,
    { line: count, oversize: count, wasted: () => undefined },
    new TurnQuota(TURN),
  );

const counted = (count: () => void): Framing =>
  new ContentLengthFraming(
    1_000_000,
    { message: count, oversize: count, broken: (why) => expect.fail(why) },
    new TurnQuota(TURN),
  );

describe('one turn', () => {
  it('takes only so many short lines', async () => {
    const turns = await turnsFor(Buffer.from('x\n'.repeat(1_000)), lines);
    expect(turns.slice(0, 10)).toEqual(new Array(10).fill(100));
    expect(turns.reduce((sum, n) => sum + n)).toBe(1_000);
  });

  it('takes only so many messages with a length', async () => {
    const message = Buffer.from('{}');
    const one = Buffer.concat([contentLengthHeader(message), message]);
    const turns = await turnsFor(Buffer.concat(new Array(1_000).fill(one)), counted);
    expect(Math.max(...turns)).toBeLessThanOrEqual(100);
    expect(turns.reduce((sum, n) => sum + n)).toBe(1_000);
  });

  it('takes as many empty lines as it takes bytes', async () => {
    let wasted = 0;
    const events = { line: never, oversize: never };
    const count = (bytes: number): void => {
      wasted += bytes;
    };
    const quota = new TurnQuota(TURN);
    const framing = new LineFraming(1_000, { ...events, wasted: count }, quota);
    await nextTurn();
    expect(framing.push(Buffer.alloc(64 * 1024, '\n'))).toBe(true);
    expect(wasted).toBe(64 * 1024);
    expect(quota.isSpent).toBe(true);
    expect(framing.push(Buffer.alloc(64 * 1024, '\n'))).toBe(false);
    expect(wasted).toBe(64 * 1024);
  });

  it('takes one long line whole', async () => {
    const turns = await turnsFor(Buffer.from(`${'x'.repeat(10 * TURN)}\ny\nz\n`), lines);
    expect(turns).toEqual([1, 2]);
  });
});

it('what is left when the stream ends is handed on at once, the unfinished line too', async () => {
  const seen: string[] = [];
  const events = { line: (bytes: Buffer) => void seen.push(bytes.toString()), oversize: never };
  const framing = new LineFraming(1_000, events, new TurnQuota(1));
  await nextTurn();
  expect(framing.push(Buffer.from('one\ntwo\n\nthree'))).toBe(false);
  framing.end();
  expect(seen).toEqual(['one', 'two', 'three']);
});
