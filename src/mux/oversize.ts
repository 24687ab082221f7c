// Whose answer was it that was too large to read? Looks for the id in the two ends that were kept.

import { integerId } from '../jsonrpc/id.ts';
import {
  CLOSE_BRACE,
  COMMA,
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
 * The id of a response of which only the two ends are known.
 * @returns undefined when neither end shows it
 */
export function ownerOfOversize(head: Buffer, tail: Buffer): number | undefined {
  const atStart = idInHead(head);
  if (atStart !== undefined) return atStart;
  const match = ID_AT_END.exec(tail.subarray(-256).toString('latin1'));
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

/** Walks the members of the message until one is cut off. */
function idInHead(head: Buffer): number | undefined {
  const end = head.length;
  let at = skipSpace(head, 0, end);
  if (head[at] !== OPEN_BRACE) return undefined;
  at = skipSpace(head, at + 1, end);
  while (head[at] === QUOTE) {
    const keyEnd = skipString(head, at, end);
    if (keyEnd < 0) return undefined;
    const value = skipColon(head, keyEnd, end);
    if (value < 0) return undefined;
    const after = skipValue(head, value, end, 0);
    if (after < 0) return undefined;
    if (head.toString('latin1', at, keyEnd) === '"id"') return integerId(head, value, after);
    at = skipSpace(head, after, end);
    if (head[at] === CLOSE_BRACE || head[at] !== COMMA) return undefined;
    at = skipSpace(head, at + 1, end);
  }
  return undefined;
}
