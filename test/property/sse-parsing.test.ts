// The event-stream parser against the tests' own, which was written apart from it: whatever the
// chunks, the same events come out, and no event is held beyond the limit.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LEAST_COST, onNextTurn, TurnQuota } from '../../src/base/turns.ts';
import { SseParser as Parser } from '../../src/jsonrpc/sse-parsing.ts';
import { heldBytes } from '../support/memory.ts';
import { runs } from '../support/runs.ts';
import { SseParser as Reference } from '../support/sse.ts';

interface Seen {
  readonly type: string;
  readonly data: string | undefined;
  readonly id: string | undefined;
  readonly retryMs: number | undefined;
}

function parse(chunks: readonly Buffer[], maxBytes = 1_000_000): { seen: Seen[]; over: number[] } {
  const seen: Seen[] = [];
  const over: number[] = [];
  const parser = new Parser(maxBytes, {
    event: (event) => seen.push({ ...event, data: event.data?.toString('utf8') }),
    oversize: (_head, _tail, length) => over.push(length),
  });
  for (const chunk of chunks) parser.push(chunk);
  return { seen, over };
}

function reference(bytes: Buffer): Seen[] {
  const seen: Seen[] = [];
  const parser = new Reference(({ event, data, id, retry }) => {
    if (data === undefined && id === undefined && retry === undefined) return;
    seen.push({ type: event || 'message', data, id, retryMs: retry });
  });
  parser.push(bytes);
  return seen;
}

function cut(bytes: Buffer, at: readonly number[]): Buffer[] {
  const ends = [...at.map((part) => part % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end));
}

const value = fc
  .string({ unit: 'binary', maxLength: 12 })
  .map((text) => text.replace(/[\r\n\0]/g, ''));
const line = fc.oneof(
  fc.constant(''),
  fc
    .tuple(fc.constantFrom('data', 'data', 'event', 'id', 'x', ''), value)
    .map(([name, text]) => `${name}: ${text}`),
  fc.tuple(fc.constantFrom('data', 'id'), value).map(([name, text]) => `${name}:${text}`),
  fc.constantFrom('data', 'retry: 100', 'retry: x', ': comment'),
);
const stream = fc
  .array(fc.tuple(line, fc.constantFrom('\n', '\n', '\r\n', '\r')), { maxLength: 30 })
  .map((lines) => Buffer.from(`${lines.map(([text, end]) => `${text}${end}`).join('')}\n\n`));

test('the same events as another parser, however it is cut', () => {
  fc.assert(
    fc.property(stream, fc.array(fc.nat(), { maxLength: 10 }), (bytes, at) => {
      expect(parse(cut(bytes, at)).seen).toEqual(reference(bytes));
    }),
    { numRuns: runs(2_000) },
  );
});

test('the same events, however few lines are read in a turn', async () => {
  await fc.assert(
    fc.asyncProperty(stream, fc.nat({ max: 4 }), async (bytes, lines) => {
      const seen: Seen[] = [];
      const parser = new Parser(1_000_000, {
        event: (event) => seen.push({ ...event, data: event.data?.toString('utf8') }),
        oversize: () => expect.unreachable(),
      });
      const quota = new TurnQuota(lines * LEAST_COST);
      let read = 0;
      while (read < bytes.length) {
        await new Promise<void>((resolve) => {
          onNextTurn(resolve);
        });
        const now = lines === 0 ? parser.push(bytes, read) : parser.push(bytes, read, quota);
        expect(now).toBeGreaterThan(read);
        read = now;
      }
      expect(seen).toEqual(reference(bytes));
    }),
  );
});

test('a byte order mark is no part of the first line', () => {
  expect(parse([Buffer.from('\ufeffdata: 1\n\n')]).seen).toMatchObject([{ data: '1' }]);
});

test('an event over the limit is told by its length, and the next one is read', () => {
  const long = `data: ${'x'.repeat(5_000)}\n\ndata: ok\n\n`;
  const manyLines = `${'data: 12345678\n'.repeat(500)}\ndata: ok\n\n`;
  for (const text of [long, manyLines, `: ${'c'.repeat(9_000)}\ndata: ok\n\n`]) {
    const { seen, over } = parse(cut(Buffer.from(text), [10, 100, 1_000, 2_000]), 1_000);
    expect(seen.map(({ data }) => data)).toEqual(['ok']);
    expect(over.every((length) => length > 1_000)).toBe(true);
    expect(over.length).toBe(text.startsWith(':') ? 0 : 1);
  }
});

test('lines without a value count too, and end in the limit', () => {
  const before = heldBytes();
  const lines = cut(Buffer.from('data\n'.repeat(200_000)), [1]);
  const chunks = [...lines, Buffer.from('\ndata: ok\n\n')];
  let held = 0;
  const seen: (string | undefined)[] = [];
  const over: number[] = [];
  const parser = new Parser(100_000, {
    event: ({ data }) => seen.push(data?.toString()),
    oversize: (_head, _tail, length) => {
      over.push(length);
      held = heldBytes() - before;
    },
  });
  for (const chunk of chunks) parser.push(chunk);
  expect(over).toEqual([199_999]);
  expect(seen).toEqual(['ok']);
  expect(held).toBeLessThan(6_000_000);
});

test.each(['\r', '\n', '\r\n'])('C11 a chunk of nothing but %j is looked through once', (end) => {
  const chunk = Buffer.from(end.repeat(64 * 1024));
  let looked = 0;
  const indexOf = chunk.indexOf.bind(chunk);
  const counted = (byte: number, from = 0): number => {
    const at = indexOf(byte, from);
    looked += (at < 0 ? chunk.length : at) - from;
    return at;
  };
  Object.assign(chunk, { indexOf: counted });
  expect(parse([chunk]).seen).toEqual([]);
  expect(looked).toBeLessThanOrEqual(2 * chunk.length);
});
