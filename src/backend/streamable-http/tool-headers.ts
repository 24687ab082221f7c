// Which arguments of a remote server's tools travel as headers: remembered from the lists that pass.
// A tool whose annotations are wrong is taken out of its list, as the protocol has it.
import type { Frame } from '../../jsonrpc/frame.ts';
import { lastMember } from '../../jsonrpc/members.ts';
import { isObject, parseParams, parseSpan, parseString, splitArray } from '../../jsonrpc/parse.ts';
import { scan } from '../../jsonrpc/scan.ts';
import { replaceSpan } from '../../jsonrpc/splice.ts';
import { encodeHeaderValue } from '../../mcp/header-values.ts';
import { TOOLS_CALL } from '../../mcp/methods.ts';
import {
  argumentAt,
  hasValidHeaders,
  type ParamHeader,
  paramHeadersOf,
} from '../../mcp/param-headers.ts';
import { type Logger, someOf } from '../../observe/logger.ts';

const ANNOTATION = Buffer.from('x-mcp-header');
const MAX_TOOLS = 10_000;

/** The mirrored arguments of one server's tools. */
export class ToolHeaders {
  readonly #byTool = new Map<string, readonly ParamHeader[]>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** The headers of a call; none for other messages. */
  headersOf(request: Frame): Record<string, string> {
    if (request.method !== TOOLS_CALL || this.#byTool.size === 0) return {};
    const tool = parseString(request.bytes, request.nameStart, request.nameEnd);
    const mirrored = tool === undefined ? undefined : this.#byTool.get(tool);
    if (mirrored === undefined) return {};
    const args = parseParams(request)['arguments'];
    const headers: Record<string, string> = {};
    for (const { header, path } of mirrored) {
      const value = argumentAt(args, path);
      if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
        headers[header] = encodeHeaderValue(`${value}`);
      }
    }
    return headers;
  }

  /**
   * Takes the answer to `tools/list`.
   * @returns the same without the tools whose annotations are wrong
   */
  learn(answer: Buffer): Buffer {
    if (this.#byTool.size === 0 && !answer.includes(ANNOTATION)) return answer;
    const frame = scan(answer);
    if (frame.resultStart < 0) return answer;
    const list = lastMember(answer, frame.resultStart, frame.resultEnd, 'tools');
    if (list === undefined) return answer;
    const texts = splitArray(answer.subarray(list.valueStart, list.valueEnd));
    const wrong: string[] = [];
    const kept = texts.filter((text) => this.#learnTool(parseSpan(text, 0, text.length), wrong));
    if (wrong.length === 0) return answer;
    this.#logger.warn(someOf(wrong), 'tools have invalid x-mcp-header annotations: not shown');
    const array = Buffer.from(`[${kept.map((text) => text.toString('utf8')).join(',')}]`);
    return replaceSpan(answer, list.valueStart, list.valueEnd, array);
  }

  /**
   * @param wrong where the names of tools that may not be shown are added
   * @returns whether the tool may be shown
   */
  #learnTool(tool: unknown, wrong: string[]): boolean {
    if (!isObject(tool) || typeof tool['name'] !== 'string') return true;
    const { name, inputSchema } = tool;
    this.#byTool.delete(name);
    if (!hasValidHeaders(inputSchema)) {
      wrong.push(name);
      return false;
    }
    const mirrored = paramHeadersOf(inputSchema);
    if (mirrored.length > 0 && this.#byTool.size < MAX_TOOLS) this.#byTool.set(name, mirrored);
    return true;
  }
}
