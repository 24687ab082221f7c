// Whose an answer is that can't be read.
import { expect, test } from 'vitest';
import { FAILURES } from '../../../src/mcp/failures.ts';
import { ownerOfOversize } from '../../../src/mux/malformed.ts';

const ownerOf = (head: string): number | undefined => {
  const bytes = Buffer.from(head);
  return ownerOfOversize(bytes, bytes);
};

test('is said by the members before the text is broken', () => {
  expect(ownerOf('{"result" : {}, "id" : 7, "x": oops')).toBe(7);
  expect(ownerOf('{"id":7,"error":oops')).toBe(7);
  expect(ownerOf('{"id":7,"params":oops')).toBeUndefined();
});

test('takes no long time over a name with very many spaces', () => {
  const begin = process.cpuUsage();
  expect(ownerOf(`{"${' '.repeat(100_000)}":1,"result":{},"id":7,"x":oops`)).toBe(7);
  // It took more than 10 s of CPU time before, and takes less than 10 ms.
  expect(process.cpuUsage(begin).user).toBeLessThan(1_000_000);
});

test('says whether the limit of the server or the room for all was too small', () => {
  expect(FAILURES.answerTooLarge('one', 9)).toMatchObject({
    reason: 'response_too_large',
    message: 'The answer of server "one" has 9 bytes, over its limit; raise limits.message.',
  });
  const { reason, message } = FAILURES.noRoomForAnswer('one', 9);
  expect(reason).toBe('overloaded');
  expect(message).toContain('no room (limits.heldBytes)');
});
