// The arguments of a remote server's tools that are repeated in headers, from the lists that pass here. A
// tool with wrong annotations is removed from its list, as the protocol requires.
import type { Frame } from '../../jsonrpc/frame.ts';
import { lastMember } from '../../jsonrpc/members.ts';
import { parseParams, parseSpan, parseString } from '../../jsonrpc/parse.ts';
import { scan } from '../../jsonrpc/scan.ts';
import { type Edit, REMOVED, type Steps, withEditedList } from '../../jsonrpc/text-steps.ts';
import { walkOver } from '../../jsonrpc/text-walk.ts';
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
/** A larger tool with annotations is not shown. */
const MAX_TOOL_BYTES = 512 * 1024;

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
   * Reads the answer to `tools/list`; in later turns if it is large.
   * @returns the answer without tools with wrong annotations
   */
  learn(answer: Buffer): Buffer | Promise<Buffer> {
    if (this.#byTool.size === 0 && !answer.includes(ANNOTATION)) return answer;
    const frame = scan(answer);
    if (frame.resultStart < 0) return answer;
    const wrong: string[] = [];
    const edit: Edit = (tool) => this.#withoutWrong(tool, wrong);
    const end = ({ bytes }: Frame): Buffer => {
      if (wrong.length > 0) {
        this.#logger.warn(someOf(wrong), 'tools have invalid x-mcp-header annotations: not shown');
      }
      return bytes;
    };
    const edited = withEditedList(frame, 'tools', edit);
    if (!(edited instanceof Promise)) return end(edited);
    return edited.then(async (frame) => {
      // The receiver scans it again.
      await walkOver(frame.bytes);
      return end(frame);
    });
  }

  *#withoutWrong(text: Buffer, wrong: string[]): Steps {
    yield text.length;
    const own = lastMember(text, 0, text.length, 'name');
    const name = own && parseString(text, own.valueStart, own.valueEnd);
    if (name === undefined) return text;
    this.#byTool.delete(name);
    if (!text.includes(ANNOTATION)) return text;
    // Parsing a larger one would delay others.
    const isLarge = text.length > MAX_TOOL_BYTES;
    const schema = isLarge ? undefined : lastMember(text, 0, text.length, 'inputSchema');
    const inputSchema = schema && parseSpan(text, schema.valueStart, schema.valueEnd);
    if (isLarge || !hasValidHeaders(inputSchema)) {
      wrong.push(name);
      return REMOVED;
    }
    const mirrored = paramHeadersOf(inputSchema);
    if (mirrored.length > 0 && this.#byTool.size < MAX_TOOLS) this.#byTool.set(name, mirrored);
    return text;
  }
}
