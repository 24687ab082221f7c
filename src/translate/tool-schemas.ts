// The arguments of a server's tools that clients must repeat in headers, from the server's list (2026-07-28
// basic/transports/streamable-http).
import { isObject, parseParams, parseSpan } from '../jsonrpc/parse.ts';
import { isHeaderFor } from '../mcp/header-values.ts';
import {
  argumentAt,
  hasValidHeaders,
  type ParamHeader,
  paramHeadersOf,
} from '../mcp/param-headers.ts';
import type { Request } from '../ports/request.ts';
import type { ToolTexts } from '../ports/tool-source.ts';

const MAX_TOOLS = 10_000;
const ANNOTATION = Buffer.from('x-mcp-header');

/** The mirrored arguments of one list of tools. */
export class MirroredArguments {
  readonly #byTool = new Map<string, readonly ParamHeader[]>();

  /** @param tools as the server sent them */
  constructor(tools: ToolTexts) {
    for (const { text } of tools) {
      const tool = text.includes(ANNOTATION) ? parseSpan(text, 0, text.length) : undefined;
      if (!isObject(tool) || typeof tool['name'] !== 'string') continue;
      const { name, inputSchema } = tool;
      // Clients do not see an invalid annotation, so they can't be required to follow it.
      const mirrored = hasValidHeaders(inputSchema) ? paramHeadersOf(inputSchema) : [];
      if (mirrored.length > 0 && this.#byTool.size < MAX_TOOLS) this.#byTool.set(name, mirrored);
    }
  }

  /**
   * What is wrong with the headers of a call.
   * @returns undefined if they match the arguments
   */
  differing(request: Request): string | undefined {
    if (this.#byTool.size === 0) return undefined;
    const { name, arguments: args } = parseParams(request.frame);
    const mirrored = typeof name === 'string' ? this.#byTool.get(name) : undefined;
    for (const { header, path } of mirrored ?? []) {
      const argument = argumentAt(args, path);
      const value = request.headers?.[header];
      if (argument === undefined && value === undefined) continue;
      if (typeof value !== 'string') return `${header} is missing`;
      if (argument === undefined) return `${header} has no corresponding argument`;
      if (!isHeaderFor(value, argument)) return `${header} differs from its argument`;
    }
    return undefined;
  }
}
