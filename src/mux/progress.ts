// A server's progress as the caller of a call may see it: under the caller's own token, and with values
// that increase. It also gives the call more time.
import { monotonicMs } from '../base/clock.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { parseSpan } from '../jsonrpc/parse.ts';
import { replaceSpan } from '../jsonrpc/splice.ts';
import type { Call } from './call.ts';

/**
 * Takes a progress notification.
 * @returns what the caller is told; undefined: nothing
 */
export function takeProgress(call: Call, frame: Frame): Buffer | undefined {
  const { token } = call;
  if (token === undefined || call.abandonedAtMs !== undefined) return undefined;
  const nextMs = Math.min(monotonicMs() + call.limitMs, call.lastDeadlineMs);
  call.deadlineMs = Math.max(call.deadlineMs, nextMs);
  const value = parseSpan(frame.bytes, frame.progressStart, frame.progressEnd);
  if (typeof value !== 'number' || value <= call.progress) return undefined;
  call.progress = value;
  return replaceSpan(frame.bytes, frame.tokenStart, frame.tokenEnd, token);
}
