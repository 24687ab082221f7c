// What the benchmark's clients do and how they judge answers.
import { describe, expect, test } from 'vitest';
import type { HttpAnswer } from '../../bench/http-connection.ts';
import { answersTo, nextCursorOf, postOf } from '../../bench/wire-text.ts';
import { work } from '../../bench/work.ts';

const answer = (head: string, tail = head): HttpAnswer => ({
  status: 200,
  contentType: 'application/json',
  sessionId: undefined,
  bodyBytes: 100,
  head,
  tail,
});

describe('work', () => {
  test('calls the tool by its name there', async () => {
    const asked: unknown[] = [];
    const ask = async (method: string, params: object) => {
      asked.push([method, params]);
      return answer('{}');
    };
    const shape = { payload: 'small', bytes: 0 } as const;
    expect(await work(ask, 'echo3__echo', shape)).toBe(100);
    expect(asked).toEqual([['tools/call', { name: 'echo3__echo', arguments: shape }]]);
  });

  test('refuses an answer that is too small', async () => {
    const ask = async () => answer('{}');
    await expect(work(ask, 'echo', { payload: 'json', bytes: 101 })).rejects.toThrow('100 bytes');
  });

  test('reads a list to its last page', async () => {
    const cursors: unknown[] = [];
    const ask = async (_method: string, params: object) => {
      cursors.push(params);
      return answer(cursors.length < 3 ? `{"nextCursor":"c${cursors.length}"}` : '{}');
    };
    expect(await work(ask, 'echo', { payload: 'list', bytes: 300 })).toBe(300);
    expect(cursors).toEqual([{}, { cursor: 'c1' }, { cursor: 'c2' }]);
  });
});

describe('answersTo', () => {
  test('looks for the id at both ends', () => {
    expect(answersTo(1, answer('{"id":1,"result":{', '}}'))).toBe(true);
    expect(answersTo(1, answer('{"result":{', '},"id":1}'))).toBe(true);
    expect(answersTo(1, answer('{"id":11,"result":{}}'))).toBe(false);
  });

  test('takes no error', () => {
    expect(answersTo(1, answer('{"id":1,"error":{"code":-32603}}'))).toBe(false);
  });
});

test('a cursor may stand before or after the entries', () => {
  expect(nextCursorOf(answer('"nextCursor":"a"', ''))).toBe('a');
  expect(nextCursorOf(answer('', '"nextCursor":"b"'))).toBe('b');
  expect(nextCursorOf(answer('', ''))).toBeUndefined();
});

test('a POST has the length of its body in bytes', () => {
  const post = postOf({ port: 1, path: '/mcp' }, 'X: y\r\n', '"é"');
  expect(post).toMatch(/^POST \/mcp HTTP\/1\.1\r\n/);
  expect(post).toContain('\r\nX: y\r\nContent-Length: 4\r\n\r\n"é"');
});
