// Which arguments of a server's tools a client has to repeat in headers: read from the server's own
// list, once for each state that the list is in (2026-07-28 basic/transports/streamable-http).
import type { GatewayError } from '../base/errors.ts';
import type { WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import {
  isObject,
  type JsonObject,
  parseParams,
  parseResult,
  parseSpan,
} from '../jsonrpc/parse.ts';
import { scan } from '../jsonrpc/scan.ts';
import { callMessage } from '../jsonrpc/serialize.ts';
import { isHeaderFor } from '../mcp/header-values.ts';
import { TOOLS_LIST } from '../mcp/methods.ts';
import {
  argumentAt,
  hasValidHeaders,
  type ParamHeader,
  paramHeadersOf,
} from '../mcp/param-headers.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Exchange, ExchangeHolder } from '../ports/exchange.ts';
import type { ModernExchange } from '../ports/modern.ts';
import type { Seat } from '../ports/seat.ts';

export const HEADER_MISMATCH = -32020;
const MAX_PAGES = 64;
const MAX_TOOLS = 10_000;
const ID = 'tools';

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
    const known = this.#lists.get(seat.toolsKey);
    return known instanceof MirroredArguments ? known : undefined;
  }

  /** Lists the tools, on behalf of a call. A server that fails to list them has none to check. */
  read(seat: Seat, call: ModernExchange): Promise<MirroredArguments> {
    const key = seat.toolsKey;
    const known = this.#lists.get(key);
    if (known !== undefined) return Promise.resolve(known);
    const reading = list(seat, call).then((mirrored) => {
      if (mirrored === undefined) this.#lists.delete(key);
      else this.#lists.set(key, mirrored);
      return mirrored ?? new MirroredArguments();
    });
    this.#lists.set(key, reading);
    return reading;
  }
}

async function list(seat: Seat, call: ModernExchange): Promise<MirroredArguments | undefined> {
  const meta = seat.identity?.era === 'modern' ? { _meta: envelopeOf(call.frame) } : {};
  const mirrored = new MirroredArguments();
  let cursor: unknown;
  for (let page = 0; page < MAX_PAGES; page++) {
    const params = { ...(cursor === undefined ? {} : { cursor }), ...meta };
    const result = await ListRequest.send(seat, call.client, params);
    if (result === undefined) return undefined;
    mirrored.learn(result['tools']);
    const next = result['nextCursor'];
    if (typeof next !== 'string' || next === cursor) break;
    cursor = next;
  }
  return mirrored;
}

function envelopeOf(request: Frame): JsonObject {
  const meta = parseSpan(request.bytes, request.metaStart, request.metaEnd);
  const { progressToken: _, ...envelope } = isObject(meta) ? meta : {};
  return envelope;
}

/** A request of the gateway's own in the name of a client. */
class ListRequest implements Exchange {
  readonly frame: Frame;
  readonly client: Downstream;
  holder: ExchangeHolder | undefined = undefined;
  isSettled = false;
  readonly #resolve: (result: JsonObject | undefined) => void;

  private constructor(
    frame: Frame,
    client: Downstream,
    resolve: (result: JsonObject | undefined) => void,
  ) {
    this.frame = frame;
    this.client = client;
    this.#resolve = resolve;
  }

  static send(seat: Seat, client: Downstream, params: JsonObject): Promise<JsonObject | undefined> {
    return new Promise((resolve) => {
      seat.dispatch(new ListRequest(scan(callMessage(TOOLS_LIST, params, ID)), client, resolve));
    });
  }

  respond(answer: Frame): void {
    this.#settle(parseResult(answer));
  }

  answer(): void {
    this.#settle(undefined);
  }

  refuse(_error: WireError): void {
    this.#settle(undefined);
  }

  fail(_failure: GatewayError): void {
    this.#settle(undefined);
  }

  push(): boolean {
    return false;
  }

  #settle(result: JsonObject | undefined): void {
    this.isSettled = true;
    this.#resolve(result);
  }
}
