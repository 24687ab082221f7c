// Links become text for clients of the oldest revisions: at once in small results, in turns in large ones.
import { expect, it } from 'vitest';
import { onNextTurn } from '../../../src/base/turns.ts';
import { readableResult } from '../../../src/mcp/old-content.ts';

const OLD = '2025-03-26';
const link = (at: number) => ({ type: 'resource_link', name: `n${at}`, uri: `x:${at}` });
const text = (at: number) => ({ type: 'text', text: `n${at}: x:${at}` });
const result = (count: number, block: (at: number) => object): Buffer =>
  Buffer.from(JSON.stringify({ content: Array.from({ length: count }, (_, at) => block(at)) }));

it('links of a small result are replaced at once', () => {
  expect(String(readableResult(result(3, link), OLD))).toBe(String(result(3, text)));
});

it('links of a large result are replaced in several turns', async () => {
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns++;
    if (!isOver) onNextTurn(turn);
  };
  onNextTurn(turn);
  const readable = await readableResult(result(60_000, link), OLD);
  isOver = true;
  expect(turns).toBeGreaterThanOrEqual(6);
  expect(readable.equals(result(60_000, text))).toBe(true);
});

it('what a newer client gets is the same object', () => {
  const content = result(3, link);
  expect(readableResult(content, '2025-06-18')).toBe(content);
  const none = result(3, text);
  expect(readableResult(none, OLD)).toBe(none);
});

it('a link in a block with many other members is not parsed whole', () => {
  const others = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`k${at}`, at]));
  const block = (at: number) => ({ ...others, ...link(at) });
  expect(String(readableResult(result(1, block), OLD))).toBe(String(result(1, text)));
});
