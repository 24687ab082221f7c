// Framing of a server's output: however the bytes are cut into chunks, the same messages come out,
// and a message over the limit costs only itself (docs/reliability.md#c07, #c11).
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ContentLengthFraming,
  contentLengthHeader,
} from '../../src/jsonrpc/content-length-framing.ts';
import { LineFraming } from '../../src/jsonrpc/line-framing.ts';
import { KEPT_BYTES } from '../../src/jsonrpc/message-ends.ts';
import { heldBytes, singleBytes } from '../support/memory.ts';
import { runs } from '../support/runs.ts';

function withContentLength(message: Buffer): Buffer {
  return Buffer.concat([contentLengthHeader(message), message]);
}

const RUNS = { numRuns: runs(3_000) };
const MAX_BYTES = 24;
/** Each end of an oversize line that is kept. */
const KEPT = 64 * 1024;

const COUNTED = Buffer.from(Array.from({ length: 4 * KEPT }, (_, at) => 0x30 + (at % 41)));

const piece = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }).map((text) => text.replaceAll('\n', ' ')),
  fc.constantFrom('{}', '💥é\u2028', '\r', 'a\rb', '', '{"id":1}\r'),
  fc.nat(80).map((length) => 'x'.repeat(length)),
);
const lines = fc.array(piece, { maxLength: 8 });
const cuts = fc.array(fc.nat(), { maxLength: 12 });

function chunksOf(bytes: Buffer, at: readonly number[]): Buffer[] {
  const edges = [0, ...at.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b)];
  return edges.map((edge, index) => Buffer.from(bytes.subarray(edge, edges[index + 1])));
}

type Event =
  | { readonly kind: 'message'; readonly bytes: Buffer }
  | {
      readonly kind: 'oversize';
      readonly head: Buffer;
      readonly tail: Buffer;
      readonly length: number;
    };

class Recorder {
  readonly events: Event[] = [];
  line(bytes: Buffer): void {
    this.events.push({ kind: 'message', bytes: Buffer.from(bytes) });
  }
  message(bytes: Buffer): void {
    this.line(bytes);
  }
  oversize(head: Buffer, tail: Buffer, length: number): void {
    this.events.push({ kind: 'oversize', head, tail, length });
  }
  broken(reason: string): void {
    throw new Error(reason);
  }
}

/** Checks events against the messages that were sent, in order. */
function expectEvents(events: readonly Event[], sent: readonly Buffer[], maxBytes: number): void {
  expect(events.map(({ kind }) => kind)).toEqual(
    sent.map(({ length }) => (length > maxBytes ? 'oversize' : 'message')),
  );
  for (const [at, event] of events.entries()) {
    const bytes = sent[at] ?? Buffer.alloc(0);
    if (event.kind === 'message') {
      expect(event.bytes.equals(bytes)).toBe(true);
    } else {
      expect(event.length).toBe(bytes.length);
      expect(bytes.subarray(0, event.head.length).equals(event.head)).toBe(true);
      expect(bytes.subarray(-event.tail.length).equals(event.tail)).toBe(true);
      expect(event.head.length).toBeGreaterThan(0);
      expect(Math.max(event.head.length, event.tail.length)).toBeLessThanOrEqual(KEPT);
    }
  }
}

function withoutReturn(line: Buffer): Buffer {
  return line.at(-1) === 0x0d && line.length <= MAX_BYTES ? line.subarray(0, -1) : line;
}

describe('lines', () => {
  test('any chunking gives the same lines', () => {
    fc.assert(
      fc.property(lines, cuts, (texts, at) => {
        const recorder = new Recorder();
        const framing = new LineFraming(MAX_BYTES, recorder);
        const bytes = Buffer.from(texts.map((text) => `${text}\n`).join(''));
        for (const chunk of chunksOf(bytes, at)) framing.push(chunk);
        const sent = texts.map((text) => withoutReturn(Buffer.from(text)));
        expectEvents(
          recorder.events,
          sent.filter(({ length }) => length > 0),
          MAX_BYTES,
        );
        expect(framing.pendingBytes).toBe(0);
      }),
      RUNS,
    );
  });

  test('both ends of a line over the limit are kept, whatever its length', () => {
    const lengths = fc.constantFrom(
      MAX_BYTES + 1,
      KEPT - 1,
      KEPT,
      KEPT + 1,
      2 * KEPT,
      3 * KEPT + 7,
    );
    fc.assert(
      fc.property(lengths, cuts, (length, at) => {
        const recorder = new Recorder();
        const framing = new LineFraming(MAX_BYTES, recorder);
        const line = COUNTED.subarray(0, length);
        for (const chunk of chunksOf(line, at)) framing.push(chunk);
        framing.push(Buffer.from('\n{}\n'));
        expectEvents(recorder.events, [line, Buffer.from('{}')], MAX_BYTES);
        const [event] = recorder.events;
        if (event?.kind !== 'oversize') throw new Error('no oversize line was told');
        expect(event.tail.length).toBe(Math.min(length, KEPT));
      }),
      { numRuns: runs(60) },
    );
  });

  test('an endless line holds no more than its two ends', () => {
    const recorder = new Recorder();
    const framing = new LineFraming(1024 * 1024, recorder);
    const chunk = Buffer.alloc(64 * 1024, 'x');
    for (let sent = 0; sent < 4_096; sent++) framing.push(chunk);
    expect(framing.heldBytes).toBe(KEPT_BYTES);
    expect(framing.pendingBytes).toBe(4_096 * chunk.length);
    framing.push(Buffer.from('\n{"id":1}\n'));
    expect(recorder.events.map(({ kind }) => kind)).toEqual(['oversize', 'message']);
  });

  test('C07 a line that comes byte by byte costs hardly more than its bytes', () => {
    const recorder = new Recorder();
    const framing = new LineFraming(1024 * 1024, recorder);
    const before = heldBytes();
    for (const byte of singleBytes(COUNTED)) framing.push(byte);
    expect(heldBytes() - before).toBeLessThan(16 * COUNTED.length);
    framing.push(Buffer.from('\n'));
    expectEvents(recorder.events, [COUNTED], COUNTED.length);
  });

  test('C07 a line over the limit that comes byte by byte is told as any other', () => {
    const recorder = new Recorder();
    const framing = new LineFraming(MAX_BYTES, recorder);
    for (const byte of singleBytes(COUNTED)) framing.push(byte);
    framing.push(Buffer.from('\n'));
    expectEvents(recorder.events, [COUNTED], MAX_BYTES);
  });
});

describe('messages with a length', () => {
  test('C07 one that comes byte by byte costs hardly more than its bytes', () => {
    const recorder = new Recorder();
    const framing = new ContentLengthFraming(1024 * 1024, recorder);
    const text = withContentLength(COUNTED);
    const before = heldBytes();
    for (const byte of singleBytes(text.subarray(0, -1))) framing.push(byte);
    expect(heldBytes() - before).toBeLessThan(16 * COUNTED.length);
    framing.push(text.subarray(-1));
    expectEvents(recorder.events, [COUNTED], COUNTED.length);
  });

  test('any chunking gives the same messages', () => {
    fc.assert(
      fc.property(lines, cuts, (texts, at) => {
        const recorder = new Recorder();
        const framing = new ContentLengthFraming(MAX_BYTES, recorder);
        const sent = texts.map((text) => Buffer.from(text));
        for (const chunk of chunksOf(Buffer.concat(sent.map(withContentLength)), at)) {
          framing.push(chunk);
        }
        const heard = recorder.events.map(({ kind }) => kind);
        const filled = sent.filter(({ length }) => length > 0);
        expect(heard).toEqual(
          filled.map(({ length }) => (length > MAX_BYTES ? 'oversize' : 'message')),
        );
        const messages = recorder.events.flatMap((event) =>
          event.kind === 'message' ? [event.bytes.toString('latin1')] : [],
        );
        const fitting = filled.filter(({ length }) => length <= MAX_BYTES);
        expect(messages).toEqual(fitting.map((bytes) => bytes.toString('latin1')));
      }),
      RUNS,
    );
  });

  test('a message over the limit is told with both ends and its length', () => {
    fc.assert(
      fc.property(fc.integer({ min: MAX_BYTES + 1, max: 400 }), cuts, (length, at) => {
        const recorder = new Recorder();
        const framing = new ContentLengthFraming(MAX_BYTES, recorder);
        const message = Buffer.from(Array.from({ length }, (_, index) => 0x30 + (index % 40)));
        for (const chunk of chunksOf(withContentLength(message), at)) framing.push(chunk);
        framing.push(withContentLength(Buffer.from('{}')));
        expectEvents(recorder.events, [message, Buffer.from('{}')], MAX_BYTES);
      }),
      RUNS,
    );
  });

  test('what is not framed breaks the stream, once', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 30 }), (text) => {
        const reasons: string[] = [];
        const framing = new ContentLengthFraming(MAX_BYTES, {
          message: () => undefined,
          oversize: () => undefined,
          broken: (reason) => reasons.push(reason),
        });
        framing.push(Buffer.from(`X${text.replaceAll(/[\r\n]/g, '')}\r\n\r\n`));
        framing.push(withContentLength(Buffer.from('{}')));
        framing.push(Buffer.alloc(5_000));
        expect(reasons.length).toBe(1);
      }),
      { numRuns: runs(200) },
    );
  });
});
