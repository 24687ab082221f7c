/**
 * The body of a request. How small its chunks are is the client's choice, so it must not matter.
 */
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { HeldBytes } from '../../../src/base/held-bytes.ts';
import { type BodyFailure, RequestBodies } from '../../../src/listener/request-body.ts';
import type { Principal } from '../../../src/ports/principal.ts';
import { heldBytes, singleBytes } from '../../support/memory.ts';

const BODY = Buffer.alloc(256 * 1024, '{"jsonrpc":"2.0"}');

type Outcome = readonly [failure: BodyFailure | null, body: Buffer | undefined];

const MIB = 1024 ** 2;
const ROOMY = { limitBytes: 64 * MIB, shareBytes: 64 * MIB };
const ann = { key: 'ann', kind: 'key' } as const;
const bob = { key: 'bob', kind: 'key' } as const;

function reading(
  maxBytes: number,
  headers: Record<string, string> = {},
  { held = new HeldBytes(ROOMY), allBytes = 64 * MIB, principal = ann as Principal } = {},
) {
  const request = Object.assign(new PassThrough(), { headers });
  const bodies = new RequestBodies(held, { maxBytes, allBytes });
  const outcome = new Promise<Outcome>((resolve) =>
    bodies.read(request as unknown as IncomingMessage, principal, (failure, body) =>
      resolve([failure, body]),
    ),
  );
  return { request, outcome };
}

it('C06 that comes byte by byte costs hardly more than its bytes', async () => {
  const { request, outcome } = reading(BODY.length);
  const before = heldBytes();
  // As the parser of HTTP does: one event a chunk.
  for (const byte of singleBytes(BODY)) request.emit('data', byte);
  expect(heldBytes() - before).toBeLessThan(16 * BODY.length);
  request.end();
  expect(await outcome).toEqual([null, BODY]);
});

it.each([0, 1, 7, 70_000, BODY.length])('of chunks of %i bytes is whole', async (size) => {
  const { request, outcome } = reading(BODY.length);
  for (let at = 0; size > 0 && at < BODY.length; at += size) {
    request.write(BODY.subarray(at, at + size));
  }
  request.end();
  expect(await outcome).toEqual([null, size === 0 ? Buffer.alloc(0) : BODY]);
});

it('C06 over the limit is 413 with the first byte too many, or at once when it says so', async () => {
  const { request, outcome } = reading(10);
  request.write(BODY.subarray(0, 11));
  expect((await outcome)[0]).toMatchObject({ statusCode: 413 });
  expect(request.listenerCount('data') + request.listenerCount('error')).toBe(0);
  const declared = reading(10, { 'content-length': '11' });
  expect((await declared.outcome)[0]).toMatchObject({ statusCode: 413 });
});

it('that breaks off is 400', async () => {
  const { request, outcome } = reading(10);
  request.destroy(new Error('aborted'));
  expect((await outcome)[0]).toMatchObject({ statusCode: 400, message: 'aborted' });
});

describe('The bytes of bodies on their way', () => {
  const declaring = (bytes: number) => ({ 'content-length': String(bytes) });
  const failureOf = async (outcome: Promise<Outcome>) => (await outcome)[0]?.statusCode;

  it('count while they come, and no longer', async () => {
    const held = new HeldBytes(ROOMY);
    const large = reading(MIB, declaring(MIB), { held });
    const small = reading(MIB, declaring(100), { held });
    expect(held.byKind.body).toBe(MIB + 100);
    small.request.end(Buffer.alloc(100));
    await small.outcome;
    expect(held.byKind.body).toBe(MIB);
    large.request.destroy();
    expect(await failureOf(large.outcome)).toBe(400);
    expect(held.total).toBe(0);
  });

  it('of unknown length count as they grow', async () => {
    const held = new HeldBytes({ limitBytes: MIB, shareBytes: MIB });
    const { request, outcome } = reading(4 * MIB, {}, { held });
    expect(held.byKind.body).toBe(64 * 1024);
    request.write(Buffer.alloc(200_000));
    await vi.waitFor(() => expect(held.byKind.body).toBeGreaterThan(200_000));
    request.write(Buffer.alloc(900_000));
    expect(await failureOf(outcome)).toBe(503);
    expect(held.total).toBe(0);
  });

  it('are refused beyond the share of a client, whose others still come', async () => {
    const held = new HeldBytes({ limitBytes: 10 * MIB, shareBytes: 3 * MIB });
    const first = reading(2 * MIB, declaring(2 * MIB), { held });
    const second = reading(2 * MIB, declaring(2 * MIB), { held });
    const other = reading(2 * MIB, declaring(2 * MIB), { held, principal: bob });
    expect(await failureOf(second.outcome)).toBe(503);
    for (const { request, outcome } of [first, other]) {
      request.end(Buffer.alloc(2 * MIB));
      expect(await failureOf(outcome)).toBeUndefined();
    }
    expect(held.total).toBe(0);
  });

  it('have a limit of their own where that is set', async () => {
    const held = new HeldBytes(ROOMY);
    const limits = { held, allBytes: MIB };
    const { request } = reading(MIB, declaring(800_000), limits);
    expect(await failureOf(reading(MIB, declaring(800_000), limits).outcome)).toBe(503);
    expect(held.byKind.body).toBe(800_000);
    request.destroy();
  });

  it('give way, with 503, when the whole is exceeded and their client holds most', async () => {
    const held = new HeldBytes({ limitBytes: 3 * MIB, shareBytes: 3 * MIB });
    const { outcome } = reading(2 * MIB, declaring(2 * MIB), { held });
    held.client(bob).hold('unread', 1.5 * MIB, () => undefined);
    expect(await failureOf(outcome)).toBe(503);
    expect(held.total).toBe(1.5 * MIB);
  });
});
