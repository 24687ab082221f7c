// The body of a request: read whole, bounded, and held in hardly more memory than it has bytes, however
// small the chunks are that a client cuts it into (reliability.md C06).
import type { IncomingMessage } from 'node:http';
import { GatheredBytes } from '../base/gathered-bytes.ts';

/** A body that can't be had; `statusCode` is what is answered. */
export class BodyFailure extends Error {
  override readonly name = 'BodyFailure';
  readonly statusCode: number;

  constructor(statusCode: number, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}

/**
 * Reads a body.
 * @param maxBytes more than that is a failure with 413; nothing of the rest is kept
 * @param done told once: the body, or why there is none
 */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
  done: (failure: BodyFailure | null, body?: Buffer) => void,
): void {
  const bytes = new GatheredBytes();
  const end = (failure: BodyFailure | null, body?: Buffer): void => {
    request.off('data', take).off('end', finish).off('error', fail);
    done(failure, body);
  };
  const take = (chunk: Buffer): void => {
    if (bytes.length + chunk.length > maxBytes) end(tooLarge());
    // What is whole at once must not keep the read buffer that it is a part of.
    else bytes.push(bytes.length === 0 ? Buffer.from(chunk) : chunk);
  };
  const finish = (): void => end(null, bytes.take());
  const fail = (error: Error): void => end(new BodyFailure(400, error.message));
  if (Number(request.headers['content-length']) > maxBytes) {
    done(tooLarge());
    return;
  }
  request.on('data', take).on('end', finish).on('error', fail);
}

function tooLarge(): BodyFailure {
  return new BodyFailure(413, 'Request body is too large');
}
