// Whose answer was it that was too large to read? Looks for the id in the two ends that were kept.

import type { FailureReason } from '../base/errors.ts';
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

// At the very end of a message `,"id":7}` can only be a member of the message itself: the last
// brace closes it. A backslash before the quote would make it part of a string.
const ID_AT_END = /[^\\]"id"\s*:\s*(\d{1,16})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/;

/**
 * The id of a response of which only the two ends are known. A message that does not show that it is
 * a response has no owner: the id of a server's own request is none of ours.
 * @returns undefined when neither end shows it
 */
export function ownerOfOversize(head: Buffer, tail: Buffer): number | undefined {
  const { isAnswer, id } = membersIn(head);
  if (!isAnswer) return undefined;
  if (id !== undefined) return id;
  const match = ID_AT_END.exec(tail.subarray(-256).toString('latin1'));
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

const LONGEST_KEY = '"result"'.length;

/**
 * Why a call fails whose answer was dropped.
 * @param isForRoom because too much is held, and not because of its length
 */
export function oversizeFailure(
  server: string,
  length: number,
  isForRoom: boolean,
): { readonly reason: FailureReason; readonly text: string } {
  const size = `The answer of server "${server}" has ${length} bytes`;
  if (isForRoom) {
    const text = `${size}, for which there was no room (limits.heldBytes); ask for less, or try again later.`;
    return { reason: 'overloaded', text };
  }
  const text = `${size}, over its limit; raise limits.message to let it through.`;
  return { reason: 'response_too_large', text };
}

/** What the members of the message say, up to the one that is cut off. */
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
    // A longer one is none of these, and may be as long as the message.
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
