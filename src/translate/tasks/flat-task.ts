// A legacy server's task as the tasks extension writes one: flat, with units in the names of its
// members, and with what belongs to its state inlined (SEP-2663, docs/protocol.md#tasks).
import type { Frame } from '../../jsonrpc/frame.ts';
import { membersOf } from '../../jsonrpc/members.ts';
import { parseSpan } from '../../jsonrpc/parse.ts';
import { jsonBytes, jsonText } from '../../jsonrpc/serialize.ts';
import { withoutRelatedTask } from '../../mcp/related-task.ts';
import type { ServerRequest } from '../../ports/downstream.ts';
import { modernError } from '../errors.ts';
import { inputRequest } from '../input-requests.ts';

const NULL = Buffer.from('null');
/** Names of the session era, and those of the extension. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ['ttl', 'ttlMs'],
  ['pollInterval', 'pollIntervalMs'],
]);
/** What is said anew, or only where it belongs. */
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

/** What is said of a task besides what its server says. */
export interface TaskDetail {
  readonly id: string;
  readonly status: string;
  /** Further members, as JSON text. */
  readonly more?: ReadonlyMap<string, Buffer>;
}

/**
 * The text of a task.
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

/** What a task came to, from the answer to `tasks/result`: a failed tool is a completed call. */
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

/** What a task asks for. */
export function serverRequestDetail(
  serverRequests: ReadonlyMap<string, ServerRequest>,
): Pick<Required<TaskDetail>, 'status' | 'more'> {
  const entries = [...serverRequests].map(
    ([key, { frame }]) => `${jsonText(key)}:${inputRequest(frame).toString('utf8')}`,
  );
  const requests = Buffer.from(`{${entries.join(',')}}`);
  return { status: 'input_required', more: new Map([['inputRequests', requests]]) };
}

// The extension has positive integers only.
function isDuration(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) > 0;
}
