// Which arguments of a server's tools a client has to repeat in headers: read from the server's own
// list, once for each state that the list is in (2026-07-28 basic/transports/streamable-http).
import { isObject, parseParams } from '../jsonrpc/parse.ts';
import { isHeaderFor } from '../mcp/header-values.ts';
import {
  argumentAt,
  hasValidHeaders,
  type ParamHeader,
  paramHeadersOf,
} from '../mcp/param-headers.ts';
import type { ModernExchange } from '../ports/modern.ts';
import type { Seat } from '../ports/seat.ts';
import { readToolPages } from './tool-lists.ts';

export const HEADER_MISMATCH = -32020;
const MAX_TOOLS = 10_000;

/** The mirrored arguments of one list of tools. */
export class MirroredArguments {
  readonly #byTool = new Map<string, readonly ParamHeader[]>();

  /** Reads one page of a list. */
  learn(tools: unknown): void {
    if (!Array.isArray(tools)) return;
    for (const tool of tools) {
      if (!isObject(tool) || typeof tool['name'] !== 'string') continue;
      const { name, inputSchema } = tool;
      // A wrong annotation is not shown to clients, so it binds nobody.
      const mirrored = hasValidHeaders(inputSchema) ? paramHeadersOf(inputSchema) : [];
      if (mirrored.length > 0 && this.#byTool.size < MAX_TOOLS) this.#byTool.set(name, mirrored);
    }
  }

  /**
   * What is wrong with the headers of a call.
   * @returns undefined when they say what the arguments say
   */
  differing(exchange: ModernExchange): string | undefined {
    if (this.#byTool.size === 0) return undefined;
    const { name, arguments: args } = parseParams(exchange.frame);
    const mirrored = typeof name === 'string' ? this.#byTool.get(name) : undefined;
    for (const { header, path } of mirrored ?? []) {
      const argument = argumentAt(args, path);
      const value = exchange.headers?.[header];
      if (argument === undefined && value === undefined) continue;
      if (typeof value !== 'string') return `${header} is missing`;
      if (argument === undefined) return `${header} stands for no argument`;
      if (!isHeaderFor(value, argument)) return `${header} differs from its argument`;
    }
    return undefined;
  }
}

/** The lists of one endpoint's servers. */
export class ToolSchemas {
  readonly #lists = new WeakMap<object, MirroredArguments | Promise<MirroredArguments>>();

  /** What is known of a server's tools as they are now. */
  known(seat: Seat): MirroredArguments | undefined {
    const known = this.#lists.get(seat.listKey('tools'));
    return known instanceof MirroredArguments ? known : undefined;
  }

  /** Lists the tools. A server that fails to list them has none to check. */
  read(seat: Seat): Promise<MirroredArguments> {
    const key = seat.listKey('tools');
    const known = this.#lists.get(key);
    if (known !== undefined) return Promise.resolve(known);
    const reading = list(seat).then((mirrored) => {
      if (mirrored === undefined) this.#lists.delete(key);
      else this.#lists.set(key, mirrored);
      return mirrored ?? new MirroredArguments();
    });
    this.#lists.set(key, reading);
    return reading;
  }
}

async function list(seat: Seat): Promise<MirroredArguments | undefined> {
  const mirrored = new MirroredArguments();
  const isWhole = await readToolPages(seat, (tools) => mirrored.learn(tools));
  return isWhole ? mirrored : undefined;
}
