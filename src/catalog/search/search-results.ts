// What `find_tools` and `describe_tool` answer: results of `tools/call` as JSON text, for a model in
// words and for a program as structured content.
import { jsonBytes, jsonText } from '../../jsonrpc/serialize.ts';
import type { FoundTools, SearchableTool } from './tool-search.ts';

const MAX_LINE_CHARS = 160;
const MAX_SERVERS = 50;
const CLOSE = Buffer.from('}');

/**
 * The result of `find_tools`.
 * @param servers all that could be searched, for who found nothing
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
 * @param definition JSON text of the tool as clients would see it in the list; goes out as it is
 */
export function describedResult(definition: Buffer): Buffer {
  const text = jsonText(definition.toString('utf8'));
  const head = `{"content":[{"type":"text","text":${text}}],"structuredContent":`;
  return Buffer.concat([Buffer.from(head), definition, CLOSE]);
}

/**
 * The result of one of the three tools that could not do what it was asked: for the model to read, so
 * no error of the protocol.
 * @param problem a sentence
 */
export function problemResult(problem: string): Buffer {
  return jsonBytes({ content: [{ type: 'text', text: problem }], isError: true });
}

/**
 * The problem of a name that no tool has.
 * @param alike tools that may have been meant
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
  // Not within a surrogate pair, and where there are words not within a word.
  const start = line.slice(0, MAX_LINE_CHARS).replace(/[\ud800-\udbff]$/, '');
  const space = start.lastIndexOf(' ');
  return `${space > MAX_LINE_CHARS / 2 ? start.slice(0, space) : start}...`;
}
