// What of tasks a server offers, and to which clients (2025-11-25 basic/utilities/tasks, SEP-2663).
import { isObject, type JsonObject } from '../../jsonrpc/parse.ts';
import { TASKS_EXTENSION } from '../../mcp/meta.ts';
import { isAtLeast } from '../../mcp/versions.ts';
import type { Seat, ServerIdentity } from '../../ports/seat.ts';
import { readToolPages } from '../tool-lists.ts';

/** Whether a server of the session era takes calls of tools as tasks. */
export function takesToolTasks(identity: ServerIdentity | undefined): boolean {
  if (identity?.era !== 'legacy') return false;
  const requests = memberOf(identity.capabilities['tasks'], 'requests');
  return memberOf(memberOf(requests, 'tools'), 'call') !== undefined;
}

/** Whether clients of a revision know tasks of the session era. */
export function knowsTasks(version: string): boolean {
  return isAtLeast(version, '2025-11-25');
}

/** The capabilities of a legacy server as a client of `version` may see them: what can be routed. */
export function sessionCapabilities(identity: ServerIdentity, version: string): JsonObject {
  const { tasks, ...rest } = identity.capabilities;
  if (!isObject(tasks) || !takesToolTasks(identity) || !knowsTasks(version)) return rest;
  const { list, cancel } = tasks;
  return {
    ...rest,
    tasks: {
      ...(list === undefined ? {} : { list }),
      ...(cancel === undefined ? {} : { cancel }),
      requests: { tools: { call: {} } },
    },
  };
}

/** Capabilities with the tasks extension, as it is declared. */
export function withTasksExtension(capabilities: JsonObject): JsonObject {
  const { extensions } = capabilities;
  const others = isObject(extensions) ? extensions : {};
  return { ...capabilities, extensions: { ...others, [TASKS_EXTENSION]: {} } };
}

/** What a request about tasks needs that its client declares. */
export const TASKS_REQUIRED = { extensions: { [TASKS_EXTENSION]: {} } };

/** Whether a tool can be called as a task. */
export type TaskSupport = 'optional' | 'required' | 'forbidden';

/** Which tools of the servers can be called as tasks: read from their own lists, once for each state. */
export class TaskTools {
  readonly #lists = new WeakMap<object, ReadonlyMap<string, TaskSupport>>();

  /** What is known of a server's tools as they are now. */
  known(seat: Seat): ReadonlyMap<string, TaskSupport> | undefined {
    return this.#lists.get(seat.listKey('tools'));
  }

  /** Lists the tools. A server that fails to list them has none that are tasks. */
  async read(seat: Seat): Promise<ReadonlyMap<string, TaskSupport>> {
    const key = seat.listKey('tools');
    const support = new Map<string, TaskSupport>();
    const isWhole = await readToolPages(seat, (tools) => note(tools, support));
    if (isWhole) this.#lists.set(key, support);
    return support;
  }
}

function note(tools: unknown, support: Map<string, TaskSupport>): void {
  if (!Array.isArray(tools)) return;
  for (const tool of tools) {
    const { name, execution } = isObject(tool) ? tool : {};
    const taskSupport = memberOf(execution, 'taskSupport');
    if (typeof name !== 'string') continue;
    if (taskSupport === 'optional' || taskSupport === 'required') support.set(name, taskSupport);
  }
}

function memberOf(value: unknown, key: string): unknown {
  return isObject(value) ? value[key] : undefined;
}
