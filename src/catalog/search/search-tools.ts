// The three tools that an endpoint with `toolList: search` lists instead of all others: their definitions,
// which are written for models, and their arguments.

import { isTextWithin, TEXT_LIMITS } from '../../base/text-limits.ts';
import { EMPTY_OBJECT, OPEN_BRACE } from '../../jsonrpc/json-text.ts';
import { editObject, membersOf, memberText } from '../../jsonrpc/members.ts';
import { isObject, type JsonObject, parseSpan } from '../../jsonrpc/parse.ts';
import { jsonBytes, jsonText } from '../../jsonrpc/serialize.ts';
import { DEFAULT_FOUND, MAX_FOUND, MAX_QUERY_CHARS } from './tool-search.ts';

export const FIND_TOOLS = 'find_tools';
export const DESCRIBE_TOOL = 'describe_tool';
export const CALL_TOOL = 'call_tool';

const NAME = {
  type: 'string',
  description: `Name of the tool, exactly as ${FIND_TOOLS} gave it.`,
} as const;

const DEFINITIONS = [
  {
    name: FIND_TOOLS,
    title: 'Find tools',
    description:
      `Searches the tools that are available here. There are more than are listed: before you say that ` +
      `something can't be done, search for it. Say in a few words what you want to do, such as ` +
      `"read a file" or "create calendar event"; names of tools, servers and arguments count too. ` +
      `Returns names with one-line descriptions, best first. Then read the definition of the one that ` +
      `fits with ${DESCRIBE_TOOL}, and call it with ${CALL_TOOL}.`,
    inputSchema: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          maxLength: MAX_QUERY_CHARS,
          description: 'A few words on what you want to do.',
        },
        server: { type: 'string', description: 'Only tools of the server of this name.' },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: MAX_FOUND,
          default: DEFAULT_FOUND,
          description: 'The most tools to return.',
        },
      },
      required: ['query'],
    },
    outputSchema: {
      type: 'object',
      properties: {
        tools: {
          type: 'array',
          description: 'Best first.',
          items: {
            type: 'object',
            properties: {
              name: { type: 'string' },
              title: { type: 'string' },
              description: { type: 'string' },
              server: { type: 'string' },
            },
            required: ['name', 'description', 'server'],
          },
        },
        matches: { type: 'integer', description: 'How many tools match in all.' },
      },
      required: ['tools', 'matches'],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    name: DESCRIBE_TOOL,
    title: 'Describe a tool',
    description:
      `Returns the whole definition of one tool, with the JSON Schema of its arguments. Read it before ` +
      `you call a tool for the first time.`,
    inputSchema: { type: 'object', properties: { name: NAME }, required: ['name'] },
    outputSchema: {
      type: 'object',
      description: 'The definition of the tool.',
      properties: { name: { type: 'string' }, inputSchema: { type: 'object' } },
      required: ['name'],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    name: CALL_TOOL,
    title: 'Call a tool',
    description:
      `Calls a tool that ${FIND_TOOLS} found, and returns its result as it is. Its arguments go into ` +
      `"arguments", as an object that fits the inputSchema that ${DESCRIBE_TOOL} gave: ` +
      `{"name": "files__read_file", "arguments": {"path": "notes.txt"}}.`,
    inputSchema: {
      type: 'object',
      properties: {
        name: NAME,
        arguments: { type: 'object', description: "The tool's own arguments." },
      },
      required: ['name'],
    },
  },
] as const;

/** The entries of `tools/list`, as JSON text. */
export const SEARCH_TOOLS: readonly { readonly name: string; readonly text: Buffer }[] =
  DEFINITIONS.map((definition) => ({ name: definition.name, text: jsonBytes(definition) }));

/** What is wrong with the arguments, as a sentence for a model. */
export interface Problem {
  readonly problem: string;
}

/** The arguments of `find_tools`. */
export interface FindArguments {
  readonly query: string;
  readonly server: string | undefined;
  readonly limit: number;
}

/** Reads the arguments of `find_tools`. */
export function readFind(args: unknown): FindArguments | Problem {
  const { query, server, limit = DEFAULT_FOUND } = asObject(args);
  if (typeof query !== 'string') return { problem: '"query" must be a string.' };
  if (query.length > MAX_QUERY_CHARS) {
    return { problem: `"query" must have at most ${MAX_QUERY_CHARS} characters.` };
  }
  if (server !== undefined && typeof server !== 'string') {
    return { problem: '"server" must be the name of a server.' };
  }
  if (typeof limit !== 'number' || !(limit >= 1)) {
    return { problem: `"limit" must be a number from 1 to ${MAX_FOUND}.` };
  }
  return { query, server, limit: Math.min(Math.floor(limit), MAX_FOUND) };
}

const NO_NAME: Problem = {
  problem: `"name" must be the name of a tool, ${TEXT_LIMITS.name} characters at most.`,
};

/** Reads the arguments of `describe_tool`. */
export function readDescribe(args: unknown): { readonly name: string } | Problem {
  const { name } = asObject(args);
  return isTextWithin(name, TEXT_LIMITS.name) ? { name } : NO_NAME;
}

/** The call inside of a `call_tool` call. */
export interface WrappedCall {
  readonly name: string;
  /** The `params` of the inner call: the arguments byte for byte, all other members unchanged. */
  readonly params: Buffer;
}

/**
 * Gets the call out of a `call_tool` call.
 * @param params JSON text of `params`
 */
export function unwrapCall(params: Buffer): WrappedCall | Problem {
  const outer = memberText(params, 0, params.length, 'arguments') ?? EMPTY_OBJECT;
  const nameText = outer[0] === OPEN_BRACE ? memberText(outer, 0, outer.length, 'name') : undefined;
  const name = nameText && parseSpan(nameText, 0, nameText.length);
  if (nameText === undefined || !isTextWithin(name, TEXT_LIMITS.name)) return NO_NAME;
  const stray = membersOf(outer, 0, outer.length).find(
    ({ key }) => key !== 'name' && key !== 'arguments',
  );
  if (stray !== undefined) {
    const where = `Put the tool's arguments into "arguments"`;
    return { problem: `${where}: ${jsonText(stray.key.slice(0, 64))} does not belong beside it.` };
  }
  const inner = memberText(outer, 0, outer.length, 'arguments') ?? EMPTY_OBJECT;
  if (inner[0] !== OPEN_BRACE) {
    return { problem: '"arguments" must be an object, not text or anything else.' };
  }
  const set = new Map([
    ['name', nameText],
    ['arguments', inner],
  ]);
  return { name, params: editObject(params, 0, params.length, { set }) };
}

/** The last one of several members with the same name counts, as in all parsers that build objects. */
function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
