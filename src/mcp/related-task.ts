// The task that a message belongs to (2025-11-25 basic/utilities/tasks): reads, replaces and removes its id.
// The key is in `_meta` of requests, notifications and results.
import type { Frame } from '../jsonrpc/frame.ts';
import { editObject, isEmptyObject, lastMember, withEdited } from '../jsonrpc/members.ts';
import { isObject, parseSpan } from '../jsonrpc/parse.ts';
import { scan } from '../jsonrpc/scan.ts';
import { jsonBytes } from '../jsonrpc/serialize.ts';
import { replaceSpan } from '../jsonrpc/splice.ts';
import { META } from './meta.ts';

const KEY = Buffer.from(META.relatedTask);

/** The span of `_meta` of a message: in its params, or in its result. */
interface MetaSpan {
  readonly start: number;
  readonly end: number;
}

function metaOf(frame: Frame): MetaSpan {
  return frame.metaStart >= 0
    ? { start: frame.metaStart, end: frame.metaEnd }
    : { start: frame.resultMetaStart, end: frame.resultMetaEnd };
}

/** The id of the task that a message belongs to; undefined if it names none. */
export function relatedTaskOf(frame: Frame): string | undefined {
  const { start, end } = metaOf(frame);
  if (start < 0 || !frame.bytes.subarray(start, end).includes(KEY)) return undefined;
  const meta = parseSpan(frame.bytes, start, end);
  const related = isObject(meta) ? meta[META.relatedTask] : undefined;
  const taskId = isObject(related) ? related['taskId'] : undefined;
  return typeof taskId === 'string' ? taskId : undefined;
}

/** The message with another task id, if it belongs to the task `from`. */
export function withRelatedTask(frame: Frame, from: string, to: string): Frame {
  if (relatedTaskOf(frame) !== from) return frame;
  const { start, end } = metaOf(frame);
  const { bytes } = frame;
  const member = lastMember(bytes, start, end, META.relatedTask);
  if (member === undefined) return frame;
  const set = new Map([['taskId', jsonBytes(to)]]);
  return withEdited(frame, member.valueStart, member.valueEnd, { set });
}

/** The message without the id of its task. */
export function withoutRelatedTask(frame: Frame): Frame {
  const { start, end } = metaOf(frame);
  const { bytes } = frame;
  if (start < 0 || !bytes.subarray(start, end).includes(KEY)) return frame;
  const meta = editObject(bytes, start, end, { remove: (key) => key === META.relatedTask });
  if (!isEmptyObject(meta, 0, meta.length)) return scan(replaceSpan(bytes, start, end, meta));
  const [from, to] =
    frame.metaStart >= 0
      ? [frame.paramsStart, frame.paramsEnd]
      : [frame.resultStart, frame.resultEnd];
  return withEdited(frame, from, to, { remove: (key) => key === '_meta' });
}
