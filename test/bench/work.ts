// What a client does again and again: one call of the echo tool, or the reading of a whole list.
import type { HttpAnswer } from './http-connection.ts';
import { describe, nextCursorOf } from './wire-text.ts';

/** What a call asks the echo server for, and the least that a right answer weighs. */
export interface CallShape {
  readonly payload: 'small' | 'json' | 'base64';
  readonly bytes: number;
}

/** All pages of `tools/list`. */
export interface ListShape {
  readonly payload: 'list';
  /** The least that they weigh together. */
  readonly bytes: number;
}

/** The call that weighs least. */
export const SMALL: CallShape = { payload: 'small', bytes: 0 };

export type Shape = CallShape | ListShape;

/** Sends a request and gives its answer if that is a result. */
export type Ask = (method: string, params: object) => Promise<HttpAnswer>;

/**
 * Does one piece of work and checks that the answers are complete.
 * @param tool what `echo` is called there
 * @returns the size of the answers in bytes
 * @throws Error when they are too small
 */
export async function work(ask: Ask, tool: string, shape: Shape): Promise<number> {
  if (shape.payload === 'list') return await readList(ask, shape);
  const answer = await ask('tools/call', { name: tool, arguments: shape });
  if (answer.bodyBytes < shape.bytes) throw new Error(describe('tools/call', answer));
  return answer.bodyBytes;
}

async function readList(ask: Ask, { bytes }: ListShape): Promise<number> {
  let size = 0;
  let answer: HttpAnswer;
  let cursor: string | undefined;
  do {
    answer = await ask('tools/list', cursor === undefined ? {} : { cursor });
    size += answer.bodyBytes;
    cursor = nextCursorOf(answer);
  } while (cursor !== undefined);
  if (size < bytes) throw new Error(describe('tools/list', answer));
  return size;
}
