// Pages that a server wants its user to visit, named in an error instead of a request (2025-11-25
// client/elicitation, -32042).

import { isTextWithin, TEXT_LIMITS } from '../base/text-limits.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { lastMember } from '../jsonrpc/members.ts';
import {
  errorCodeOf,
  isObject,
  parseSpan,
  READ_ERROR_BYTES,
  splitArray,
} from '../jsonrpc/parse.ts';
import { URL_ELICITATION_REQUIRED } from './errors.ts';

/**
 * The elicitations that an answer names, each the text of an object.
 * @returns none when it is another answer, or names none
 */
export function requiredElicitations(answer: Frame): Buffer[] {
  const { bytes, errorStart, errorEnd } = answer;
  // A server names no more pages at a time than a user would visit.
  if (errorEnd - errorStart > READ_ERROR_BYTES) return [];
  if (errorCodeOf(answer) !== URL_ELICITATION_REQUIRED) return [];
  const data = lastMember(bytes, errorStart, errorEnd, 'data');
  if (data === undefined || !isObject(parseSpan(bytes, data.valueStart, data.valueEnd))) return [];
  const list = lastMember(bytes, data.valueStart, data.valueEnd, 'elicitations');
  if (list === undefined) return [];
  const entries = splitArray(bytes.subarray(list.valueStart, list.valueEnd));
  return entries.filter((entry) => isObject(parseSpan(entry, 0, entry.length)));
}

/** The ids of the elicitations that an answer names. */
export function requiredIds(answer: Frame): string[] {
  return requiredElicitations(answer).flatMap((entry) => {
    const value = parseSpan(entry, 0, entry.length);
    const id = isObject(value) ? value['elicitationId'] : undefined;
    return isTextWithin(id, TEXT_LIMITS.serverId) ? [id] : [];
  });
}
