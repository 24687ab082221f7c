// Lists a modern server's tools once more, on behalf of a call whose headers it refused: the schema
// that says which arguments are headers has changed, or was never seen (2026-07-28
// basic/transports/streamable-http).
import type { Frame } from '../../jsonrpc/frame.ts';
import { lastMember } from '../../jsonrpc/members.ts';
import { parseString } from '../../jsonrpc/parse.ts';
import { scan } from '../../jsonrpc/scan.ts';
import { callMessage } from '../../jsonrpc/serialize.ts';
import { TOOLS_LIST } from '../../mcp/methods.ts';
import { envelopeOf, type HttpLink, lastMessage } from './link.ts';
import { Outgoing } from './outgoing.ts';

const MAX_PAGES = 64;
const PAGE_MS = 10_000;
/** No id of the connection's own, which are numbers. */
const ID = 'sluice-tools';

/**
 * Makes the link learn every page.
 * @param call whose envelope the requests carry, and with which they end
 * @throws when the connection breaks off
 */
export async function refreshTools(link: HttpLink, call: Outgoing): Promise<void> {
  const envelope = envelopeOf(call);
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const params = { ...(cursor === undefined ? {} : { cursor }), _meta: envelope };
    const message = new Outgoing(callMessage(TOOLS_LIST, params, ID));
    const { from, signal } = call;
    const answer = await link.requestOwn(message, PAGE_MS, { from, signal, isCall: true });
    if (answer.status !== 200) {
      answer.discard();
      return;
    }
    const text = await lastMessage(answer, link.maxBytes);
    if (text === undefined) return;
    await link.tools.learn(text);
    const next = nextCursorOf(scan(text));
    if (next === undefined || next === cursor) return;
    cursor = next;
  }
}

function nextCursorOf({ bytes, resultStart, resultEnd }: Frame): string | undefined {
  const cursor = lastMember(bytes, resultStart, resultEnd, 'nextCursor');
  return cursor && parseString(bytes, cursor.valueStart, cursor.valueEnd);
}
