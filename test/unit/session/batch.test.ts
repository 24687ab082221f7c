// How the messages of a batch are worked off: in order, and no more of them in a turn than the client may cost.
import { expect, it } from 'vitest';
import { UNBOUNDED } from '../../../src/base/held-bytes.ts';
import { LEAST_COST, onNextTurn, TurnQuota } from '../../../src/base/turns.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import { workOff } from '../../../src/session/batch.ts';

const COUNT = 100;
const TURN = 64 * LEAST_COST;
const messages = Array.from({ length: COUNT }, (_, id) =>
  scan(
    Buffer.from(
      JSON.stringify({
        jsonrpc: '2.0',
        id,
        method: 'resources/read',
        params: { uri: `file:///${'a'.repeat(15_000)}` },
      }),
    ),
  ),
);

const owner = () => UNBOUNDED.client({ key: 'a' });

it('takes no more of a batch in a turn than the client may cost', async () => {
  const quota = new TurnQuota(TURN, new TurnQuota(1_000_000));
  const ids: string[] = [];
  let inTurn = 0;
  let most = 0;
  let isOver = false;
  const count = (): void => {
    inTurn = 0;
    if (!isOver) onNextTurn(count);
  };
  onNextTurn(count);
  await new Promise<void>((late) => {
    const isDone = workOff(messages, {
      quota,
      owner,
      failed: (error) => expect.fail(error.message),
      late,
      take: (frame) => {
        ids.push(String(frame.idBytes));
        most = Math.max(most, ++inTurn);
      },
    });
    expect(isDone).toBe(false);
  });
  isOver = true;
  expect(ids).toEqual(messages.map((_, id) => String(id)));
  // Those that begin before the turn is used up, twice where a turn of the test is one of two.
  expect(most).toBeLessThan(10);
});

it('takes a small batch at once', () => {
  const quota = new TurnQuota(TURN);
  const small = messages.slice(0, 2);
  let taken = 0;
  const take = () => void taken++;
  expect(workOff(small, { quota, owner, take, failed: () => undefined })).toBe(true);
  expect(taken).toBe(2);
});

it('takes the rest where one fails', () => {
  const failures: string[] = [];
  let taken = 0;
  const isDone = workOff(messages, {
    quota: undefined,
    owner,
    failed: ({ reason }) => failures.push(reason),
    take: () => {
      taken++;
      throw new Error('broken');
    },
  });
  expect(isDone).toBe(true);
  expect([taken, failures.length, failures[0]]).toEqual([COUNT, COUNT, 'internal']);
});
