// A message that is not whole and for which there is no room any more: its two ends are kept, and what
// comes after it is read as ever.
import { describe, expect, it } from 'vitest';
import {
  ContentLengthFraming,
  contentLengthHeader,
} from '../../../src/jsonrpc/content-length-framing.ts';
import { LineFraming } from '../../../src/jsonrpc/line-framing.ts';
import { SseParser } from '../../../src/jsonrpc/sse-parsing.ts';

const MIB = 1024 ** 2;
const HELD_ENDS = 192 * 1024;
const LONG = `{"id":7,"result":"${'x'.repeat(2 * MIB)}"}`;
const SHORT = '{"id":8,"result":{}}';

interface Framing {
  readonly heldBytes: number;
  push(chunk: Buffer): unknown;
  drop(): void;
}

type Dropped = [head: Buffer, tail: Buffer, length: number, isForRoom: boolean];

interface Seen {
  readonly messages: string[];
  readonly dropped: Dropped[];
}

const FRAMINGS: Readonly<Record<string, (seen: Seen) => Framing>> = {
  lines: ({ messages, dropped }) =>
    new LineFraming(16 * MIB, {
      line: (bytes) => void messages.push(bytes.toString()),
      oversize: (...one) => void dropped.push(one),
    }),
  'content-length': ({ messages, dropped }) =>
    new ContentLengthFraming(16 * MIB, {
      message: (bytes) => void messages.push(bytes.toString()),
      oversize: (...one) => void dropped.push(one),
      broken: (why) => expect.fail(why),
    }),
  events: ({ messages, dropped }) =>
    new SseParser(16 * MIB, {
      event: ({ data }) => void messages.push(String(data)),
      oversize: (...one) => void dropped.push(one),
    }),
};

function framed(kind: string, text: string): Buffer {
  const message = Buffer.from(text);
  if (kind === 'lines') return Buffer.from(`${text}\n`);
  if (kind === 'events') return Buffer.from(`data: ${text}\n\n`);
  return Buffer.concat([contentLengthHeader(message), message]);
}

describe.each(Object.keys(FRAMINGS))('In %s a message without room', (kind) => {
  const create = (): { framing: Framing; seen: Seen } => {
    const seen: Seen = { messages: [], dropped: [] };
    const framing = FRAMINGS[kind]?.(seen);
    if (framing === undefined) throw new Error(kind);
    return { framing, seen };
  };

  it('is counted as it comes, and hardly at all once it is dropped', () => {
    const { framing } = create();
    const bytes = framed(kind, LONG);
    framing.push(bytes.subarray(0, MIB));
    expect(framing.heldBytes).toBeGreaterThan(MIB - 100);
    framing.drop();
    expect(framing.heldBytes).toBeLessThanOrEqual(HELD_ENDS);
    framing.push(bytes.subarray(MIB, 2 * MIB));
    expect(framing.heldBytes).toBeLessThanOrEqual(HELD_ENDS);
  });

  it('is told with its two ends when it is over, and the next one is taken', () => {
    const { framing, seen } = create();
    const bytes = framed(kind, LONG);
    framing.push(bytes.subarray(0, MIB));
    framing.drop();
    framing.drop();
    framing.push(Buffer.concat([bytes.subarray(MIB), framed(kind, SHORT)]));
    expect(seen.messages).toEqual([SHORT]);
    expect(seen.dropped).toHaveLength(1);
    const [[head, tail, length, isForRoom] = []] = seen.dropped;
    expect(head?.toString()).toMatch(/^\{"id":7,"result":"x/);
    expect(tail?.toString()).toMatch(/x"\}$/);
    expect([length, isForRoom]).toEqual([LONG.length, true]);
    expect(framing.heldBytes).toBe(0);
  });

  it('is none while nothing has come', () => {
    const { framing, seen } = create();
    framing.drop();
    framing.push(framed(kind, SHORT));
    expect(seen).toEqual({ messages: [SHORT], dropped: [] });
  });
});
