// The entries of `tools/list` for a modern client: without legacy members, and without annotations for which
// clients would drop the tool (docs/protocol.md#results-across-eras, #mirrored-arguments).
import type { Frame } from '../jsonrpc/frame.ts';
import { editObject, lastMember, membersOf } from '../jsonrpc/members.ts';
import { isObject, parseSpan, splitArray } from '../jsonrpc/parse.ts';
import { replaceSpan } from '../jsonrpc/splice.ts';
import { withoutKey } from '../jsonrpc/strip-key.ts';
import { type Edit, withEditedList } from '../jsonrpc/text-steps.ts';
import { hasValidHeaders } from '../mcp/param-headers.ts';

const ANNOTATION_TEXT = Buffer.from('x-mcp-header');
const EXECUTION_TEXT = Buffer.from('"execution"');

/**
 * Edits the entries of a list of tools.
 * @param result JSON text
 * @param edit returns the text of an entry, the same buffer if nothing changes
 * @returns the result itself if no entry changed
 */
export function editTools(result: Buffer, edit: (tool: Buffer) => Buffer): Buffer {
  const list = lastMember(result, 0, result.length, 'tools');
  if (list === undefined) return result;
  const entries = splitArray(result.subarray(list.valueStart, list.valueEnd));
  const edited = entries.map(edit);
  if (edited.every((entry, i) => entry === entries[i])) return result;
  const text = `[${edited.map((entry) => entry.toString('utf8')).join(',')}]`;
  return replaceSpan(result, list.valueStart, list.valueEnd, Buffer.from(text));
}

/** A list of a server's tools for a modern client. */
export function modernToolList(result: Buffer): Buffer {
  if (!result.includes(EXECUTION_TEXT) && !result.includes(ANNOTATION_TEXT)) return result;
  return editTools(result, modernTool);
}

/** A tool for a modern client. */
export function modernTool(tool: Buffer): Buffer {
  if (!tool.includes(EXECUTION_TEXT) && !tool.includes(ANNOTATION_TEXT)) return tool;
  const members = membersOf(tool, 0, tool.length);
  const hasExecution = members.some(({ key }) => key === 'execution');
  const schema = members.findLast(({ key }) => key === 'inputSchema');
  const text = schema && tool.subarray(schema.valueStart, schema.valueEnd);
  const isWrong = text !== undefined && !hasValidHeaders(parseSpan(text, 0, text.length));
  if (!hasExecution && !isWrong) return tool;
  return editObject(tool, 0, tool.length, {
    remove: (key) => key === 'execution',
    ...(isWrong ? { set: new Map([['inputSchema', withoutKey(text, ANNOTATION_TEXT)]]) } : {}),
  });
}

/** A list of tools for a client that does not know tasks. */
export function toolsWithoutExecution(answer: Frame): Frame | Promise<Frame> {
  const remove = (key: string): boolean => key === 'execution';
  const edit: Edit = function* (tool) {
    yield tool.length;
    return editObject(tool, 0, tool.length, { remove });
  };
  return withEditedList(answer, 'tools', edit, EXECUTION_TEXT);
}

/** Whether a legacy client can't read the root of a tool's output schema. */
export function hasOtherRoot(outputSchema: unknown): boolean {
  return isObject(outputSchema) && outputSchema['type'] !== 'object';
}
