// The differences between MCP and plain JSON-RPC for a mux: what messages may contain, how a call is
// cancelled, and during which calls a server may send requests.
import type { Frame } from '../jsonrpc/frame.ts';
import { callMessage } from '../jsonrpc/serialize.ts';
import { replaceSpan } from '../jsonrpc/splice.ts';
import { CANCELLED } from '../mcp/methods.ts';

/** The rules for one kind of server. */
export interface Dialect {
  readonly anyParams: boolean;
  readonly everyCallMayAsk: boolean;
  /** Whether every server answers `ping`. */
  readonly hasPing: boolean;
  /**
   * The message that cancels a call.
   * @param id the id that the server sees
   * @param notice the caller's; its reason and other members are kept
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

// Language servers accept `$/cancelRequest`. JSON-RPC itself has no cancellation, and servers must ignore
// unknown notifications.
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
