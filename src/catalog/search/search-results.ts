// The answers of `find_tools` and `describe_tool`: results of `tools/call` as JSON text, with text for models
// and structured content for programs.
import { jsonBytes, jsonText } from '../../jsonrpc/serialize.ts';
import type { FoundTools, SearchableTool } from './tool-search.ts';

const MAX_LINE_CHARS = 160;
const MAX_SERVERS = 50;
const CLOSE = Buffer.from('}');

/**
 * The result of `find_tools`.
 * @param servers all servers that were searched, for an empty result
 */
export function foundResult(found: FoundTools, servers: readonly string[]): Buffer {
  const tools = found.tools.map(({ name, title, server, description }) => ({
    name,
    ...(title === '' ? {} : { title }),
    description: oneLine(description),
    server,
  }));
  const structuredContent = { tools, matches: found.matches };
  return jsonBytes({
    content: [{ type: 'text', text: foundText(found, servers) }],
    structuredContent,
  });
}

function foundText({ tools, matches }: FoundTools, servers: readonly string[]): string {
  if (tools.length === 0) {
    const some = servers.slice(0, MAX_SERVERS).join(', ');
    const others = servers.length > MAX_SERVERS ? ', ...' : '';
    return `No tool matches. Try other words, or one of the servers: ${some}${others}`;
  }
  const lines = tools.map(lineOf);
  if (matches > tools.length) {
    lines.push(
      `(${matches - tools.length} more match; ask for more with "limit", or more exactly)`,
    );
  }
  return lines.join('\n');
}

function lineOf({ name, title, description }: SearchableTool): string {
  const what = oneLine(description === '' ? title : description);
  return what === '' ? name : `${name} - ${what}`;
}

/**
 * The result of `describe_tool`.
 * @param definition JSON text of the tool as in the list of clients; it is not changed
 */
export function describedResult(definition: Buffer): Buffer {
  const text = jsonText(definition.toString('utf8'));
  const head = `{"content":[{"type":"text","text":${text}}],"structuredContent":`;
  return Buffer.concat([Buffer.from(head), definition, CLOSE]);
}

/**
 * The result if one of the three tools failed. It is written for the model, so it is not a protocol error.
 * @param problem a sentence
 */
export function problemResult(problem: string): Buffer {
  return jsonBytes({ content: [{ type: 'text', text: problem }], isError: true });
}

/**
 * The problem that no tool has a name.
 * @param alike tools with similar names
 */
export function unknownTool(name: string, alike: FoundTools): string {
  const asked = jsonText(name.slice(0, MAX_LINE_CHARS));
  const names = alike.tools.map((tool) => tool.name).join(', ');
  const advice = names === '' ? 'Search with find_tools.' : `Did you mean one of: ${names}?`;
  return `There is no tool ${asked}. ${advice}`;
}

/** The first line of a text, shortened at a word. */
function oneLine(text: string): string {
  const line =
    text
      .trim()
      .split(/[\r\n]/, 1)[0]
      ?.replace(/\s+/g, ' ') ?? '';
  if (line.length <= MAX_LINE_CHARS) return line;
  // Not within a surrogate pair, and not within a word if there are several words.
  const start = line.slice(0, MAX_LINE_CHARS).replace(/[\ud800-\udbff]$/, '');
  const space = start.lastIndexOf(' ');
  return `${space > MAX_LINE_CHARS / 2 ? start.slice(0, space) : start}...`;
}
