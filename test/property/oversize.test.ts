// Whose answer was it that was too large to read? Only the two ends of it are known, and what a
// server wrote into its text must never name a call (docs/reliability.md#c07).
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ownerOfOversize } from '../../src/mux/malformed.ts';
import { runs } from '../support/runs.ts';

const KEPT = 120;

const decoys = fc.array(
  fc.constantFrom('"id":5', ',"id":5}', '\\', '"', '{"id": 5}', 'x'.repeat(40), '","id":5,"', '}}'),
  { maxLength: 12 },
);

const orders = fc.constantFrom(
  ['jsonrpc', 'id', 'payload'],
  ['id', 'jsonrpc', 'payload'],
  ['payload', 'jsonrpc', 'id'],
  ['payload', 'id', 'jsonrpc'],
  ['jsonrpc', 'payload', 'id'],
  ['id', 'payload', 'jsonrpc'],
);

interface Long {
  readonly text: string;
  readonly order: readonly string[];
  readonly id: number;
}

/** A message whose payload is longer than both ends together. */
function longMessage(payloadKey: string, more: string): fc.Arbitrary<Long> {
  return fc
    .tuple(orders, decoys, decoys, fc.nat(1_000_000), fc.constantFrom('', ' '))
    .map(([order, before, after, id, gap]) => {
      const filling = [...before, 'y'.repeat(3 * KEPT), ...after].join('');
      const payload = JSON.stringify({ content: [{ text: filling, id: 5 }], id: 5 });
      const members: Readonly<Record<string, string>> = {
        jsonrpc: `"jsonrpc":${gap}"2.0"`,
        id: `"id"${gap}:${gap}${id}`,
        payload: `${more}"${payloadKey}":${payload}`,
      };
      return { text: `{${order.map((key) => members[key]).join(`,${gap}`)}}`, order, id };
    });
}

function endsOf(text: string): [Buffer, Buffer] {
  const bytes = Buffer.from(text);
  return [bytes.subarray(0, KEPT), bytes.subarray(-KEPT)];
}

test('the owner of an answer is found at either end', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('result', 'error').chain((key) => longMessage(key, '')),
      (long) => {
        expect(ownerOfOversize(...endsOf(long.text))).toBe(long.id);
      },
    ),
    { numRuns: runs(4_000) },
  );
});

test("a server request that is too large has no owner: its id is the server's own", () => {
  fc.assert(
    fc.property(longMessage('params', '"method":"sampling/createMessage",'), ({ text }) => {
      expect(ownerOfOversize(...endsOf(text))).toBeUndefined();
    }),
    { numRuns: runs(2_000) },
  );
});

test('an id that is cut off is not taken for a shorter one', () => {
  const head = Buffer.from('{"jsonrpc":"2.0","result":1,"id":12');
  expect(ownerOfOversize(head, Buffer.from('34,"x":"'))).toBeUndefined();
});

test('a text that is no message names nobody, or the id that it has as a member', () => {
  fc.assert(
    fc.property(decoys, decoys, (head, tail) => {
      const text = JSON.stringify({ jsonrpc: '2.0', result: [head.join(''), tail.join('')] });
      expect(ownerOfOversize(...endsOf(text))).toBeUndefined();
    }),
    { numRuns: runs(2_000) },
  );
});
