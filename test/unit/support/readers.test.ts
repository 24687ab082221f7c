/**
 * The parts of the test support that judge the gateway's bytes must themselves be right: the SSE parser,
 * the metrics parser and the queue that tests read from.
 */
import { describe, expect, it } from 'vitest';
import { AsyncQueue } from '../../support/async-queue.ts';
import { metricSum, parseMetrics } from '../../support/metrics.ts';
import { type SseEvent, SseParser } from '../../support/sse.ts';

function parse(text: string, pieceSize: number): { events: SseEvent[]; comments: string[] } {
  const events: SseEvent[] = [];
  const parser = new SseParser((event) => events.push(event));
  const bytes = Buffer.from(text);
  for (let i = 0; i < bytes.length; i += pieceSize) parser.push(bytes.subarray(i, i + pieceSize));
  return { events, comments: parser.comments };
}

describe('the SSE parser', () => {
  const text =
    'id: 1\ndata:\n\n: ka\n\nevent: message\r\nid: 2\r\ndata: {"é":"😀"}\r\n\r\n' +
    'retry: 500\ndata:a\ndata: b\n\ndata: never dispatched\n';

  it.each([1, 2, 3, 7, 1000])('reads the same from pieces of %i bytes', (size) => {
    const { events, comments } = parse(text, size);
    expect(events).toEqual([
      { event: undefined, data: '', id: '1', retry: undefined },
      { event: 'message', data: '{"é":"😀"}', id: '2', retry: undefined },
      { event: undefined, data: 'a\nb', id: undefined, retry: 500 },
    ]);
    expect(comments).toEqual([' ka']);
  });

  it('refuses bytes that are not UTF-8', () => {
    expect(() => new SseParser(() => undefined).push(Uint8Array.of(0xff))).toThrow(TypeError);
  });
});

describe('the metrics parser', () => {
  const samples = parseMetrics(
    '# HELP a b\n# TYPE a gauge\na{x="1",y="q\\"\\\\"} 2\na{x="2"} 3e1\nb 1\nc{le="+Inf"} +Inf\n',
  );

  it('reads names, labels and values', () => {
    expect(samples[0]).toEqual({ name: 'a', labels: { x: '1', y: 'q"\\' }, value: 2 });
    expect(samples[3]?.value).toBe(Number.POSITIVE_INFINITY);
  });

  it('sums by labels', () => {
    expect(metricSum(samples, 'a')).toBe(32);
    expect(metricSum(samples, 'a', { x: '2' })).toBe(30);
    expect(metricSum(samples, 'none')).toBe(0);
  });
});

describe('the queue', () => {
  it('gives the first that fits, now or later, and keeps the rest', async () => {
    const queue = new AsyncQueue<number>('numbers');
    const even = queue.next((n) => n % 2 === 0);
    for (const n of [1, 2, 3]) queue.push(n);
    expect(await even).toBe(2);
    expect(await queue.next()).toBe(1);
    expect(queue.pending).toEqual([3]);
    expect(queue.all).toEqual([1, 2, 3]);
  });

  it('rejects waiters when it ends, but gives what is left', async () => {
    const queue = new AsyncQueue<number>('numbers');
    const never = queue.next();
    queue.end();
    await expect(never).rejects.toThrow('numbers ended');
    const other = new AsyncQueue<number>('numbers');
    other.push(1);
    other.end();
    expect(await other.next()).toBe(1);
  });

  it('rejects at the bound and says what it saw', async () => {
    const queue = new AsyncQueue<number>('numbers');
    queue.push(41);
    await expect(queue.next((n) => n === 42, 1)).rejects.toThrow(/41/);
  });
});
