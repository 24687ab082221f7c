// URLs that a server wants its user to visit, in an error instead of a request (2025-11-25
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
 * The elicitations in an answer, each as the text of an object.
 * @returns none if it is another answer, or has none
 */
export function requiredElicitations(answer: Frame): Buffer[] {
  const { bytes, errorStart, errorEnd } = answer;
  // A user would not visit so many URLs.
  if (errorEnd - errorStart > READ_ERROR_BYTES) return [];
  if (errorCodeOf(answer) !== URL_ELICITATION_REQUIRED) return [];
  const data = lastMember(bytes, errorStart, errorEnd, 'data');
  if (data === undefined || !isObject(parseSpan(bytes, data.valueStart, data.valueEnd))) return [];
  const list = lastMember(bytes, data.valueStart, data.valueEnd, 'elicitations');
  if (list === undefined) return [];
  const entries = splitArray(bytes.subarray(list.valueStart, list.valueEnd));
  return entries.filter((entry) => isObject(parseSpan(entry, 0, entry.length)));
}

/** The ids of the elicitations in an answer. */
export function requiredIds(answer: Frame): string[] {
  return requiredElicitations(answer).flatMap((entry) => {
    const value = parseSpan(entry, 0, entry.length);
    const id = isObject(value) ? value['elicitationId'] : undefined;
    return isTextWithin(id, TEXT_LIMITS.serverId) ? [id] : [];
  });
}
