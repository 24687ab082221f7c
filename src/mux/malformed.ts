// Malformed responses, and those that are too large: finds the call that they were meant for, and what its
// caller is told. Of a response that is too large, only the first and last bytes are known.

import { asGatewayError } from '../base/errors.ts';
import { INTERNAL_ERROR, type WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { integerId } from '../jsonrpc/id.ts';
import {
  COMMA,
  MALFORMED,
  OPEN_BRACE,
  QUOTE,
  skipColon,
  skipSpace,
  skipString,
  skipValue,
} from '../jsonrpc/json-text.ts';
import { parseError } from '../jsonrpc/parse.ts';
import { ERRORS } from '../mcp/errors.ts';
import type { Logger } from '../observe/logger.ts';
import { RareLine } from '../observe/rare-line.ts';
import type { Request } from '../ports/request.ts';

/** How many characters of a malformed message are logged. */
const SHOWN = 200;
// At the very end of a message, `,"id":7}` can only be a member of the message itself, because the last brace
// closes it. A backslash before the quote would make it part of a string.
const ID_AT_END = /[^\\]"id"\s*:\s*(\d{1,16})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/;

/**
 * The id of a response of which only the two ends are known. The message must show that it is a response: the
 * id of a server's own request is not an id of the gateway.
 * @returns undefined if neither end shows it
 */
export function ownerOfOversize(head: Buffer, tail: Buffer): number | undefined {
  const { isAnswer, id } = membersIn(head);
  if (!isAnswer) return undefined;
  if (id !== undefined) return id;
  const match = ID_AT_END.exec(tail.subarray(-256).toString('latin1'));
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

const LONGEST_KEY = '"result"'.length;

/** What the members at the beginning say, up to the one that is cut off. */
function membersIn(head: Buffer): { isAnswer: boolean; id: number | undefined } {
  const end = head.length;
  let isAnswer = false;
  let id: number | undefined;
  let at = skipSpace(head, 0, end);
  while (head[at] === OPEN_BRACE || head[at] === COMMA) {
    at = skipSpace(head, at + 1, end);
    const keyEnd = skipKey(head, at);
    const value = keyEnd < 0 ? MALFORMED : skipColon(head, keyEnd, end);
    if (value < 0) break;
    // Longer keys are not compared; they may be as long as the message.
    const key = head.toString('latin1', at, Math.min(keyEnd, at + LONGEST_KEY + 1));
    if (key === '"result"' || key === '"error"') isAnswer = true;
    const after = skipValue(head, value, end, 0);
    // A number at the very end may be cut off.
    if (after < 0 || after === end) break;
    if (key === '"id"') id = integerId(head, value, after);
    at = skipSpace(head, after, end);
  }
  return { isAnswer, id };
}

function skipKey(head: Buffer, at: number): number {
  return head[at] === QUOTE ? skipString(head, at, head.length) : MALFORMED;
}

/** Id of the call that a malformed response was meant for. */
export function ownerOfInvalid(frame: Frame): number | undefined {
  const { bytes, fault } = frame;
  // The scan stopped where the text is malformed, but the members before that can be used.
  if (fault === 'json' || fault === 'depth') return ownerOfOversize(bytes, bytes);
  const isAnswer = frame.method === '' && fault !== 'method' && fault !== 'long-method';
  return isAnswer ? integerId(bytes, frame.idStart, frame.idEnd) : undefined;
}

/** The log line about such answers. */
export function misnamedLine(logger: Logger): RareLine<number> {
  const what = 'server answers with ids as strings that were sent as numbers: its calls fail';
  return new RareLine((count, id) => logger.warn({ count, id }, what));
}

/** Logs the beginning of something that is not a message. */
export function logDropped(logger: Logger, what: string, text: Buffer): void {
  const line = text.toString('utf8', 0, SHOWN);
  logger.debug({ what, line }, 'server sent something that is not a message');
}

/** Settles a call with the server's answer, or with an error if the answer can't be used. */
export function settleWith(request: Request, answer: Frame, server: string): void {
  try {
    request.settle((answer.resultStart < 0 ? invalidError(answer) : undefined) ?? answer);
  } catch (error) {
    request.settle(asGatewayError(error, server, 'unknown'));
  }
}

/**
 * Replaces a malformed error of a server. Clients refuse the whole message if the code is not an integer
 * (docs/protocol.md#messages).
 */
function invalidError(frame: Frame): WireError | undefined {
  const error = parseError(frame);
  const { code, message } = error ?? {};
  if (Number.isInteger(code) && typeof message === 'string') return undefined;
  return typeof message === 'string'
    ? { code: INTERNAL_ERROR, message }
    : ERRORS.serverErrorInvalid;
}
