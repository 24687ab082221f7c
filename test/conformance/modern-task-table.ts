/**
 * Owns the tasks of the modern fixture and the methods about them. It outlives a connection, since over
 * HTTP each request has a server of its own. A client that did not declare the extension is refused.
 */

import { randomUUID } from 'node:crypto';
import {
  type CallToolResult,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { readClient } from './modern-call.ts';
import { type CreatedTask, ModernTask, type TaskDesk } from './modern-task.ts';

/** The extension's name among the capabilities. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

const TASK = z.looseObject({ taskId: z.string() });
const UPDATE = z.looseObject({
  taskId: z.string(),
  inputResponses: z.record(z.string(), z.unknown()).default({}),
});

/** Whether the client of this request takes tasks. */
export function takesTasks(ctx: ServerContext): boolean {
  return readClient(ctx).extensions?.[TASKS_EXTENSION] !== undefined;
}

/** @throws when the client of this request does not take tasks */
export function requireTasks(ctx: ServerContext): void {
  if (takesTasks(ctx)) return;
  const requiredCapabilities = { extensions: { [TASKS_EXTENSION]: {} } };
  throw new MissingRequiredClientCapabilityError({ requiredCapabilities });
}

/** All tasks of a process. They are few, so none is ever dropped. */
export class TaskTable {
  readonly #tasks = new Map<string, ModernTask>();

  /**
   * Starts a task.
   * @param work what it does; its result or error becomes the task's
   * @returns the result of the call that asked for it
   */
  create(work: (desk: TaskDesk) => Promise<CallToolResult>): CreatedTask {
    const taskId = randomUUID();
    const task = new ModernTask(taskId, work);
    this.#tasks.set(taskId, task);
    return task.created();
  }

  /** Makes a server answer the methods about tasks. */
  serve(server: Server): void {
    server.setRequestHandler('tasks/get', { params: TASK }, ({ taskId }, ctx) => {
      requireTasks(ctx);
      return this.#find(taskId).detailed();
    });
    server.setRequestHandler('tasks/update', { params: UPDATE }, (params, ctx) => {
      requireTasks(ctx);
      // The SDK takes the answers out of the parameters of any method.
      this.#find(params.taskId).answer(ctx.mcpReq.inputResponses ?? params.inputResponses);
      return {};
    });
    server.setRequestHandler('tasks/cancel', { params: TASK }, ({ taskId }, ctx) => {
      requireTasks(ctx);
      this.#find(taskId).cancel();
      return {};
    });
  }

  #find(taskId: string): ModernTask {
    const task = this.#tasks.get(taskId);
    if (task !== undefined) return task;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown task: ${taskId}`);
  }
}
