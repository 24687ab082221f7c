// A server's progress as the caller of a call may see it: under the caller's own token, and with values
// that increase. It also gives the call more time.
import { monotonicMs } from '../base/clock.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { integerId } from '../jsonrpc/id.ts';
import { parseSpan } from '../jsonrpc/parse.ts';
import { scan } from '../jsonrpc/scan.ts';
import { replaceSpan } from '../jsonrpc/splice.ts';
import type { Call } from './call.ts';
import type { CallTable } from './call-table.ts';
import type { TaskSubscriptions } from './task-subscriptions.ts';

/** Passes a progress notification to whoever waits for the call, or follows the task that it made. */
export function passProgress(frame: Frame, calls: CallTable, tasks: TaskSubscriptions): void {
  // The token that the server was given is the id of the call.
  const id = integerId(frame.bytes, frame.tokenStart, frame.tokenEnd);
  if (id === undefined) return;
  const task = tasks.madeBy(id);
  const call = task?.call ?? calls.find(id);
  if (call === undefined) return;
  const message = takeProgress(call, frame);
  if (message === undefined) return;
  if (task === undefined) call.request?.push(message);
  else task.subscriber.tell(scan(message));
}

/** @returns what the caller is told; undefined: nothing */
function takeProgress(call: Call, frame: Frame): Buffer | undefined {
  const { token } = call;
  if (token === undefined || call.abandonedAtMs !== undefined) return undefined;
  const nextMs = Math.min(monotonicMs() + call.limitMs, call.lastDeadlineMs);
  call.deadlineMs = Math.max(call.deadlineMs, nextMs);
  const value = parseSpan(frame.bytes, frame.progressStart, frame.progressEnd);
  if (typeof value !== 'number' || value <= call.progress) return undefined;
  call.progress = value;
  return replaceSpan(frame.bytes, frame.tokenStart, frame.tokenEnd, token);
}
