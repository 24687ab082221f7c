// Lists a modern server's tools once more, on behalf of a call whose headers it refused: the schema
// that says which arguments are headers has changed, or was never seen (2026-07-28
// basic/transports/streamable-http).
import { isObject, parseResult, parseSpan } from '../../jsonrpc/parse.ts';
import { scan } from '../../jsonrpc/scan.ts';
import { callMessage } from '../../jsonrpc/serialize.ts';
import { TOOLS_LIST } from '../../mcp/methods.ts';
import { collect, readEvents } from './answer-body.ts';
import type { HttpAnswer, HttpEndpoint } from './http-endpoint.ts';
import { messageHeaders } from './message-headers.ts';
import { Outgoing } from './outgoing.ts';
import type { ToolHeaders } from './tool-headers.ts';

const MAX_PAGES = 64;
const PAGE_MS = 10_000;
/** No id of the connection's own, which are numbers. */
const ID = 'sluice-tools';

/**
 * Makes `tools` learn every page.
 * @param call whose envelope the requests carry, and with which they end
 * @throws when the connection breaks off
 */
export async function refreshTools(
  endpoint: HttpEndpoint,
  call: Outgoing,
  tools: ToolHeaders,
  maxBytes: number,
): Promise<void> {
  const meta = parseSpan(call.frame.bytes, call.frame.metaStart, call.frame.metaEnd);
  const { progressToken: _, ...envelope } = isObject(meta) ? meta : {};
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const params = { ...(cursor === undefined ? {} : { cursor }), _meta: envelope };
    const request = new Outgoing(callMessage(TOOLS_LIST, params, ID));
    const answer = await endpoint.request({
      method: 'POST',
      headers: messageHeaders(request, undefined, tools),
      body: request.frame.bytes,
      signal: AbortSignal.any([call.signal, AbortSignal.timeout(PAGE_MS)]),
      from: call.from,
      headMs: PAGE_MS,
    });
    const text = await lastMessage(answer, maxBytes);
    if (text === undefined) return;
    tools.learn(text);
    const next = parseResult(scan(text))?.['nextCursor'];
    if (typeof next !== 'string' || next === cursor) return;
    cursor = next;
  }
}

async function lastMessage(answer: HttpAnswer, maxBytes: number): Promise<Buffer | undefined> {
  if (answer.status === 200 && answer.type === 'application/json') {
    return await collect(answer.body, maxBytes);
  }
  if (answer.status !== 200 || answer.type !== 'text/event-stream') {
    answer.discard();
    return undefined;
  }
  let last: Buffer | undefined;
  const position = { lastId: undefined, retryMs: undefined };
  await readEvents(answer.body, maxBytes, position, {
    message: (bytes) => {
      last = bytes;
    },
    oversize: () => undefined,
  });
  return last;
}
