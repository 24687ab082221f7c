// Messages about tasks in the form of the other side: with other ids, which are spliced in, and legacy tasks
// in the form of the tasks extension (docs/protocol.md#tasks, SEP-2663).
import { isTextWithin, TEXT_LIMITS } from '../../base/text-limits.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { EMPTY_OBJECT, OPEN_BRACE } from '../../jsonrpc/json-text.ts';
import { lastMember, membersOf, withEdited } from '../../jsonrpc/members.ts';
import { parseSpan, parseString } from '../../jsonrpc/parse.ts';
import { scan } from '../../jsonrpc/scan.ts';
import { jsonBytes, jsonText } from '../../jsonrpc/serialize.ts';
import { replaceSpan } from '../../jsonrpc/splice.ts';
import { REMOVED, withEditedList } from '../../jsonrpc/text-steps.ts';
import { withoutRelatedTask } from '../../mcp/related-task.ts';
import type { ServerRequest } from '../../ports/downstream.ts';
import { modernError } from '../errors.ts';
import { inputRequest } from '../input-requests.ts';

const NULL = Buffer.from('null');
/** Legacy member names, and those of the extension. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ['ttl', 'ttlMs'],
  ['pollInterval', 'pollIntervalMs'],
]);
/** Members that are written anew, or only in some states. */
const OWN: ReadonlySet<string> = new Set([
  'taskId',
  'status',
  'resultType',
  'ttlMs',
  'pollIntervalMs',
  'result',
  'error',
  'inputRequests',
]);

/** What a server says about a task. */
export interface TaskState {
  readonly taskId: unknown;
  readonly status: unknown;
  /** How long the server keeps it, in milliseconds; null: without limit. */
  readonly ttlMs: unknown;
}

/** A request or notification with another task id in its params. */
export function withParamsTaskId(frame: Frame, taskId: string): Frame {
  return withTaskIdIn(frame, frame.paramsStart, frame.paramsEnd, taskId);
}

/** A message with another `taskId` in its object at [start, end). */
export function withTaskIdIn(frame: Frame, start: number, end: number, taskId: string): Frame {
  const { bytes } = frame;
  return scan(replaceSpan(bytes, start, end, withTaskId(bytes, start, end, taskId)));
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
export interface CreatedTask extends TaskState {
  readonly taskId: string;
  /** Its position. */
  readonly start: number;
  readonly end: number;
}

/** The task that a legacy call made, if it made one. */
export function createdTask({ bytes, resultStart, resultEnd }: Frame): CreatedTask | undefined {
  if (resultStart < 0) return undefined;
  const task = lastMember(bytes, resultStart, resultEnd, 'task');
  if (task === undefined || bytes[task.valueStart] !== OPEN_BRACE) return undefined;
  const { valueStart: start, valueEnd: end } = task;
  const { taskId, ...state } = taskStateOf(bytes, start, end);
  return isTextWithin(taskId, TEXT_LIMITS.serverId) ? { ...state, taskId, start, end } : undefined;
}

/**
 * The result of `tasks/list` with other ids, and without some tasks.
 * @param idOf the client's id of a task; undefined: it belongs to another client
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

/** A call that asks the server to run it as a task. */
export function asTask(call: Frame): Frame {
  const { paramsStart, paramsEnd } = call;
  const set = new Map([['task', EMPTY_OBJECT]]);
  return withEdited(call, paramsStart, paramsEnd, { set });
}

/** The same call without that. */
export function notAsTask(call: Frame): Frame {
  const { paramsStart, paramsEnd } = call;
  return withEdited(call, paramsStart, paramsEnd, { remove: (key) => key === 'task' });
}

/** What is added to a server's task. */
export interface TaskDetail {
  readonly id: string;
  readonly status: string;
  /** Further members, as JSON text. */
  readonly more?: ReadonlyMap<string, Buffer>;
}

/**
 * The text of a legacy task in the form of the extension: flat, with units in the names of members, and with
 * the details of its state.
 * @param bytes JSON text with the server's task at [start, end)
 */
export function flatTask(bytes: Buffer, start: number, end: number, detail: TaskDetail): Buffer {
  const members = new Map<string, Buffer>([
    ['taskId', jsonBytes(detail.id)],
    ['status', jsonBytes(detail.status)],
    ['ttlMs', NULL],
  ]);
  for (const { key, valueStart, valueEnd } of membersOf(bytes, start, end)) {
    const name = RENAMED.get(key);
    const value = bytes.subarray(valueStart, valueEnd);
    if (name === undefined) {
      if (!OWN.has(key)) members.set(key, value);
    } else if (isDuration(parseSpan(value, 0, value.length))) {
      members.set(name, value);
    }
  }
  for (const [key, value] of detail.more ?? []) members.set(key, value);
  const text = [...members].map(([key, value]) => `${jsonText(key)}:${value.toString('utf8')}`);
  return Buffer.from(`{${text.join(',')}}`);
}

/** The outcome of a task, from the answer to `tasks/result`. A failed tool is a completed call. */
export function outcomeDetail(answer: Frame): Pick<Required<TaskDetail>, 'status' | 'more'> {
  if (answer.resultStart >= 0) {
    const { bytes, resultStart, resultEnd } = withoutRelatedTask(answer);
    return {
      status: 'completed',
      more: new Map([['result', bytes.subarray(resultStart, resultEnd)]]),
    };
  }
  const error = modernError(answer, answer);
  const text =
    error === undefined
      ? answer.bytes.subarray(answer.errorStart, answer.errorEnd)
      : jsonBytes(error);
  return { status: 'failed', more: new Map([['error', text]]) };
}

/** The server requests of a task. */
export function inputRequiredDetail(
  serverRequests: ReadonlyMap<string, ServerRequest>,
): Pick<Required<TaskDetail>, 'status' | 'more'> {
  const entries = [...serverRequests].map(
    ([key, { frame }]) => `${jsonText(key)}:${inputRequest(frame).toString('utf8')}`,
  );
  const requests = Buffer.from(`{${entries.join(',')}}`);
  return { status: 'input_required', more: new Map([['inputRequests', requests]]) };
}

// The extension allows only positive integers.
function isDuration(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) > 0;
}
