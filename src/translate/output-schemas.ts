// Structured content that is not an object. Legacy clients can't read it, so it is wrapped as `{result:
// ...}`, and its schema in the same way (SEP-2106, docs/protocol.md#results-across-eras).

import type { Frame } from '../jsonrpc/frame.ts';
import { OPEN_BRACE } from '../jsonrpc/json-text.ts';
import { editObject, membersOf } from '../jsonrpc/members.ts';
import { isObject, type JsonObject, parseSpan, parseString, splitArray } from '../jsonrpc/parse.ts';
import { jsonBytes, jsonText } from '../jsonrpc/serialize.ts';
import { TOOLS_CALL, TOOLS_LIST } from '../mcp/methods.ts';
import { editTools, hasOtherRoot } from './tool-lists.ts';

const BASE = '#/properties/result';
const OUTPUT_SCHEMA = Buffer.from('"outputSchema"');
const STRUCTURED = Buffer.from('"structuredContent"');

/** The tools whose results one session knows to be wrapped. */
export class WrappedResults {
  readonly #tools = new Set<string>();

  /**
   * The result of a modern server for this session's client.
   * @param request the client's
   * @param result JSON text
   */
  convert(request: Frame, result: Buffer): Buffer {
    if (request.method === TOOLS_LIST && result.includes(OUTPUT_SCHEMA)) {
      return editTools(result, (tool) => this.#learn(tool));
    }
    if (request.method === TOOLS_CALL && result.includes(STRUCTURED)) {
      return this.#content(request, result);
    }
    return result;
  }

  /** In a list, the client saw that the results of a tool are wrapped. */
  note(name: string): void {
    this.#tools.add(name);
  }

  #learn(tool: Buffer): Buffer {
    const { name } = parseSpan(tool, 0, tool.length) as JsonObject;
    if (typeof name !== 'string') return tool;
    this.#tools.delete(name);
    const text = legacyTool(tool);
    if (text !== tool) this.#tools.add(name);
    return text;
  }

  #content(request: Frame, result: Buffer): Buffer {
    const members = membersOf(result, 0, result.length);
    const structured = members.findLast(({ key }) => key === 'structuredContent');
    if (structured === undefined) return result;
    const value = result.subarray(structured.valueStart, structured.valueEnd);
    const name = parseString(request.bytes, request.nameStart, request.nameEnd);
    if (value[0] === OPEN_BRACE && !this.#tools.has(name ?? '')) return result;
    const set = new Map([
      ['structuredContent', Buffer.concat([Buffer.from('{"result":'), value, Buffer.from('}')])],
    ]);
    const content = members.findLast(({ key }) => key === 'content');
    const blocks =
      content === undefined
        ? []
        : splitArray(result.subarray(content.valueStart, content.valueEnd));
    if (!blocks.some(isText)) {
      const block = `{"type":"text","text":${jsonText(value.toString('utf8'))}}`;
      const texts = [...blocks.map((one) => one.toString('utf8')), block];
      set.set('content', Buffer.from(`[${texts.join(',')}]`));
    }
    return editObject(result, 0, result.length, { set });
  }
}

/** The tool of a modern server for a legacy client. */
export function legacyTool(tool: Buffer): Buffer {
  if (!tool.includes(OUTPUT_SCHEMA)) return tool;
  const { outputSchema } = parseSpan(tool, 0, tool.length) as JsonObject;
  if (!isObject(outputSchema) || !hasOtherRoot(outputSchema)) return tool;
  const wrapped = {
    type: 'object',
    properties: { result: rebased(outputSchema) },
    required: ['result'],
  };
  const set = new Map([['outputSchema', jsonBytes(wrapped)]]);
  return editObject(tool, 0, tool.length, { set });
}

function isText(block: Buffer): boolean {
  const value = parseSpan(block, 0, block.length);
  return isObject(value) && value['type'] === 'text';
}

/** A schema that moved one level down: its own references are adapted, those below another `$id` stay. */
function rebased(schema: unknown, isRoot = true): unknown {
  if (Array.isArray(schema)) return schema.map((item) => rebased(item, false));
  if (!isObject(schema)) return schema;
  if (typeof schema['$id'] === 'string' && (isRoot || !schema['$id'].startsWith('#'))) {
    return schema;
  }
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      const isReference = key === '$ref' && typeof value === 'string';
      if (isReference && (value === '#' || value.startsWith('#/'))) {
        return [key, `${BASE}${value.slice(1)}`];
      }
      return [key, rebased(value, false)];
    }),
  );
}
