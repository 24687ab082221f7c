/**
 * The body of a request. How small its chunks are is the client's choice, so it must not matter.
 */
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { type BodyFailure, readBody } from '../../../src/listener/request-body.ts';
import { heldBytes, singleBytes } from '../../support/memory.ts';

const BODY = Buffer.alloc(256 * 1024, '{"jsonrpc":"2.0"}');

type Outcome = readonly [failure: BodyFailure | null, body: Buffer | undefined];

function reading(maxBytes: number, headers: Record<string, string> = {}) {
  const request = Object.assign(new PassThrough(), { headers });
  const outcome = new Promise<Outcome>((resolve) =>
    readBody(request as unknown as IncomingMessage, maxBytes, (failure, body) =>
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
