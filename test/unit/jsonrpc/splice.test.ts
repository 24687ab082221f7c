/** Requests with an id of ours: small ones are copied, large ones stay where they are. */
import { expect, it } from 'vitest';
import { scan } from '../../../src/jsonrpc/scan.ts';
import { inOnePart, ownIdParts, withOwnId } from '../../../src/jsonrpc/splice.ts';

const LARGE = 'x'.repeat(2 * 1024 * 1024);
const request = (text: string): string =>
  `"method":"sampling/createMessage","params":{"t":"${text}"`;
const token = '"_meta":{"progressToken":"p"}';

it.each([
  ['without a progress token', (text: string) => `{"jsonrpc":"2.0","id":"q",${request(text)}}}`],
  ['with its id first', (text: string) => `{"jsonrpc":"2.0","id":"q",${request(text)},${token}}}`],
  [
    'with its token first',
    (text: string) => `{"jsonrpc":"2.0",${request(text)},${token}},"id":"q"}`,
  ],
])('a large request %s is given another id without a copy', (_, of) => {
  const bytes = Buffer.from(of(LARGE));
  const frame = scan(bytes);
  const parts = ownIdParts(frame, 12_345);
  expect(inOnePart(parts).equals(withOwnId(frame, 12_345))).toBe(true);
  expect(inOnePart(parts).toString()).toBe(
    of(LARGE)
      .replace('"id":"q"', '"id":12345')
      .replace('"progressToken":"p"', '"progressToken":12345'),
  );
  const large = parts.find(({ length }) => length > LARGE.length);
  expect(large?.buffer).toBe(bytes.buffer);
  const small = scan(Buffer.from(of('x')));
  expect(ownIdParts(small, 12_345)).toEqual([withOwnId(small, 12_345)]);
});
