// Which task features of a server are offered, and to which clients (2025-11-25 basic/utilities/tasks,
// SEP-2663).
import { isObject, type JsonObject, parseSpan, parseString } from '../../jsonrpc/parse.ts';
import { TASKS_EXTENSION } from '../../mcp/meta.ts';
import { isAtLeast } from '../../mcp/versions.ts';
import type { Lease, ServerIdentity } from '../../ports/lease.ts';
import type { Request } from '../../ports/request.ts';
import type { ToolSource } from '../../ports/tool-source.ts';
import { ToolFacts } from '../tool-facts.ts';
import type { TaskTable } from './task.ts';

const TASK_SUPPORT = Buffer.from('taskSupport');

/** Whether a legacy server runs tool calls as tasks. */
export function takesToolTasks(identity: ServerIdentity | undefined): identity is ServerIdentity {
  if (identity?.era !== 'legacy') return false;
  const requests = memberOf(identity.capabilities['tasks'], 'requests');
  return memberOf(memberOf(requests, 'tools'), 'call') !== undefined;
}

/** Whether clients of a revision know legacy tasks. */
export function knowsTasks(version: string): boolean {
  return isAtLeast(version, '2025-11-25');
}

/** The capabilities of a legacy server for a client of `version`: those that the gateway can route. */
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

/** Capabilities with the tasks extension. */
export function withTasksExtension(capabilities: JsonObject): JsonObject {
  const { extensions } = capabilities;
  const others = isObject(extensions) ? extensions : {};
  return { ...capabilities, extensions: { ...others, [TASKS_EXTENSION]: {} } };
}

/** The capability that requests about tasks need. */
export const TASKS_REQUIRED = { extensions: { [TASKS_EXTENSION]: {} } };

/** Whether a tool can be called as a task. */
export type TaskSupport = 'optional' | 'required' | 'forbidden';

/** The tools of servers that can be called as tasks. All others are `forbidden`. */
export type TaskTools = ToolFacts<ReadonlyMap<string, TaskSupport>>;

/** What all endpoints share for tasks. */
export interface SharedTasks {
  readonly table: TaskTable;
  readonly tools: TaskTools;
}

/** @param source of the tools of all servers */
export function taskTools(source: ToolSource): TaskTools {
  return new ToolFacts(source, (tools) => {
    const support = new Map<string, TaskSupport>();
    for (const { text } of tools) {
      if (text.includes(TASK_SUPPORT)) note(parseSpan(text, 0, text.length), support);
    }
    return support;
  });
}

/**
 * Sends a call of a tool, when it is known whether it can be a task; at once, if the server's tools are
 * known.
 * @param send not called if the call was settled meanwhile
 */
export async function withTaskSupport(
  call: Request,
  lease: Lease,
  tools: TaskTools,
  send: (support: TaskSupport) => void,
): Promise<void> {
  const support = tools.known(lease) ?? (await tools.read(lease));
  if (call.isSettled) return;
  const { bytes, nameStart, nameEnd } = call.frame;
  send(support.get(parseString(bytes, nameStart, nameEnd) ?? '') ?? 'forbidden');
}

function note(tool: unknown, support: Map<string, TaskSupport>): void {
  const { name, execution } = isObject(tool) ? tool : {};
  const taskSupport = memberOf(execution, 'taskSupport');
  if (typeof name !== 'string') return;
  if (taskSupport === 'optional' || taskSupport === 'required') support.set(name, taskSupport);
}

function memberOf(value: unknown, key: string): unknown {
  return isObject(value) ? value[key] : undefined;
}
