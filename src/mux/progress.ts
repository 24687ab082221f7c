// Passes progress of a server to the caller, with the caller's own token. The values must increase. Progress
// extends the deadline of the call.
import { monotonicMs } from '../base/clock.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { integerId } from '../jsonrpc/id.ts';
import { parseSpan } from '../jsonrpc/parse.ts';
import { scan } from '../jsonrpc/scan.ts';
import { replaceSpan } from '../jsonrpc/splice.ts';
import type { Call } from './call.ts';
import type { CallTable } from './call-table.ts';
import type { TaskSubscriptions } from './task-subscriptions.ts';

/** Passes a progress notification to the caller, or to the owner of the task that the call made. */
export function passProgress(frame: Frame, calls: CallTable, tasks: TaskSubscriptions): void {
  // The token that the server got is the id of the call.
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

/** @returns the message for the caller; undefined if there is none */
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
