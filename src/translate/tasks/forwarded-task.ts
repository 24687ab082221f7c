// A modern client's task at a modern server: only its id is another one on either side
// (docs/protocol.md#handles).
import { isTextWithin, TEXT_LIMITS } from '../../base/text-limits.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import type { Downstream } from '../../ports/downstream.ts';
import type { Canceller } from '../../ports/request.ts';
import { OwnedTask } from './owned-task.ts';
import type { TaskClaims } from './task-ids.ts';
import type { TaskTable } from './task-table.ts';
import { taskStateOf, withTaskId } from './task-text.ts';

/**
 * The result that says that a server made a task, for its owner.
 * @param target which server, and where of it
 * @param call the one that made it
 * @returns JSON text; undefined when the server's result is no task
 */
export function madeTaskResult(
  answer: Frame,
  owner: Downstream,
  target: { readonly server: string; readonly at: string; readonly table: TaskTable },
  call: Canceller | undefined,
): Buffer | undefined {
  const { bytes, resultStart, resultEnd } = answer;
  const { taskId, status, ttlMs } = taskStateOf(bytes, resultStart, resultEnd);
  if (!isTextWithin(taskId, TEXT_LIMITS.serverId)) return undefined;
  const { server, at, table } = target;
  const claims: TaskClaims = { server, at, taskId, principal: owner.principal.key };
  const task = new OwnedTask(table.identity(claims), owner, table);
  table.keep(task);
  task.follow(call, true);
  task.noted(status, ttlMs);
  return withTaskId(bytes, resultStart, resultEnd, task.id);
}

/** The result of a request about a task, under the id that its owner knows. */
export function taskResult(result: Buffer, claims: TaskClaims, table: TaskTable): Buffer {
  const { taskId, status, ttlMs } = taskStateOf(result, 0, result.length);
  if (taskId !== claims.taskId) return result;
  table.find(claims)?.noted(status, ttlMs);
  return withTaskId(result, 0, result.length, table.identity(claims).id);
}
