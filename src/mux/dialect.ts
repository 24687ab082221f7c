// Where MCP and plain JSON-RPC differ for a mux: what may stand in a message, how a call is
// cancelled, and during which calls a server may ask.
import type { Frame } from '../jsonrpc/frame.ts';
import { callMessage } from '../jsonrpc/serialize.ts';
import { replaceSpan } from '../jsonrpc/splice.ts';
import { CANCELLED } from '../mcp/methods.ts';

/** The rules of one family of servers. */
export interface Dialect {
  readonly anyParams: boolean;
  readonly everyCallMayAsk: boolean;
  /** Whether every server answers `ping`. */
  readonly hasPing: boolean;
  /**
   * The message that cancels a call.
   * @param id the id that the server knows
   * @param notice what the caller sent; its reason and other members are kept
   */
  cancelMessage(id: number, notice: Frame | undefined): Buffer;
}

const MCP: Dialect = {
  anyParams: false,
  everyCallMayAsk: false,
  hasPing: true,
  cancelMessage(id, notice) {
    if (notice === undefined || notice.requestIdStart < 0) {
      return callMessage(CANCELLED, { requestId: id });
    }
    const text = Buffer.from(String(id));
    return replaceSpan(notice.bytes, notice.requestIdStart, notice.requestIdEnd, text);
  },
};

// `$/cancelRequest` is what language servers take; JSON-RPC itself has no cancel, and servers must
// ignore notifications that they don't know.
const JSONRPC: Dialect = {
  anyParams: true,
  everyCallMayAsk: true,
  hasPing: false,
  cancelMessage: (id) => callMessage('$/cancelRequest', { id }),
};

export const DIALECTS: Readonly<Record<'mcp' | 'jsonrpc', Dialect>> = {
  mcp: MCP,
  jsonrpc: JSONRPC,
};
