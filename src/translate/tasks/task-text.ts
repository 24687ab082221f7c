// Messages about tasks with other ids in them: spliced, never rebuilt (docs/protocol.md#tasks).
import { isTextWithin, TEXT_LIMITS } from '../../base/text-limits.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { OPEN_BRACE } from '../../jsonrpc/json-text.ts';
import { lastMember, type Member, withEdited } from '../../jsonrpc/members.ts';
import { parseSpan, parseString } from '../../jsonrpc/parse.ts';
import { scan } from '../../jsonrpc/scan.ts';
import { jsonBytes } from '../../jsonrpc/serialize.ts';
import { replaceSpan } from '../../jsonrpc/splice.ts';
import { REMOVED, withEditedList } from '../../jsonrpc/text-steps.ts';

/** What a server says of a task. */
export interface TaskState {
  readonly taskId: unknown;
  readonly status: unknown;
  /** How long the server keeps it, in milliseconds; null: no limit. */
  readonly ttlMs: unknown;
}

/** A request, or a notification, with another task id in its params. */
export function withParamsTaskId(frame: Frame, taskId: string): Frame {
  const { bytes, paramsStart, paramsEnd } = frame;
  return scan(
    replaceSpan(bytes, paramsStart, paramsEnd, withTaskId(bytes, paramsStart, paramsEnd, taskId)),
  );
}

/** The text of an object with another `taskId`. */
export function withTaskId(bytes: Buffer, start: number, end: number, taskId: string): Buffer {
  const member = lastMember(bytes, start, end, 'taskId');
  if (member === undefined) return bytes.subarray(start, end);
  const object = bytes.subarray(start, end);
  const { valueStart, valueEnd } = member;
  return replaceSpan(object, valueStart - start, valueEnd - start, jsonBytes(taskId));
}

/** The state of a task, from the object at [start, end). */
export function taskStateOf(bytes: Buffer, start: number, end: number): TaskState {
  const read = (key: string): unknown => {
    const member = lastMember(bytes, start, end, key);
    return member === undefined ? undefined : parseSpan(bytes, member.valueStart, member.valueEnd);
  };
  return { taskId: read('taskId'), status: read('status'), ttlMs: read('ttlMs') ?? read('ttl') };
}

/** A task in the result of the call that made it. */
export interface MadeTask extends Member {
  readonly taskId: string;
}

/** Where the task stands in the result of a call of the session era that made one. */
export function madeTask(answer: Frame): MadeTask | undefined {
  const { bytes, resultStart, resultEnd } = answer;
  if (resultStart < 0) return undefined;
  const task = lastMember(bytes, resultStart, resultEnd, 'task');
  const { taskId } =
    task === undefined || bytes[task.valueStart] !== 0x7b
      ? { taskId: undefined }
      : taskStateOf(bytes, task.valueStart, task.valueEnd);
  const isTask = task !== undefined && isTextWithin(taskId, TEXT_LIMITS.serverId);
  return isTask ? { ...task, taskId } : undefined;
}

/**
 * The result of `tasks/list` with other ids, and without some tasks.
 * @param idOf the id that a client knows a task by; undefined: not this client's
 */
export function editedTaskList(
  answer: Frame,
  idOf: (taskId: string) => string | undefined,
): Frame | Promise<Frame> {
  return withEditedList(answer, 'tasks', function* (task) {
    yield task.length;
    const own = task[0] === OPEN_BRACE ? lastMember(task, 0, task.length, 'taskId') : undefined;
    const taskId = own && parseString(task, own.valueStart, own.valueEnd);
    const id = taskId === undefined ? undefined : idOf(taskId);
    return id === undefined ? REMOVED : withTaskId(task, 0, task.length, id);
  });
}

/** A call that asks the server to make a task of it. */
export function asTask(call: Frame): Frame {
  const { paramsStart, paramsEnd } = call;
  const set = new Map([['task', Buffer.from('{}')]]);
  return withEdited(call, paramsStart, paramsEnd, { set });
}

/** A call that does not. */
export function notAsTask(call: Frame): Frame {
  const { paramsStart, paramsEnd } = call;
  return withEdited(call, paramsStart, paramsEnd, { remove: (key) => key === 'task' });
}
