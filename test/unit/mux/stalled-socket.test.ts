// A server that does not read: what is dropped of what it is told, and what it learns all the same.
import { expect, test, vi } from 'vitest';
import { scan } from '../../../src/jsonrpc/scan.ts';
import { InteractiveTools } from '../../../src/mux/interactive-tools.ts';
import { Mux } from '../../../src/mux/mux.ts';
import type { MuxParts } from '../../../src/mux/mux-contract.ts';
import { RecentCallers } from '../../../src/mux/recent-callers.ts';
import { ServerRequests, type ServerRequestsContext } from '../../../src/mux/server-requests.ts';
import { Traffic } from '../../../src/observe/traffic.ts';
import type { Downstream, ServerRequest } from '../../../src/ports/downstream.ts';
import type { Request } from '../../../src/ports/request.ts';

const TIMEOUTS = { request: 1_000, requestMax: 1_000 };
const OPTIONS = { server: 's', protocol: 'mcp', timeouts: TIMEOUTS } as const;
const SHORT = 200;

const frameOf = (message: object) =>
  scan(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })));

/** A mux whose server has so much to read that only short messages are kept for it. */
function clogged() {
  const sent: string[] = [];
  const channel = {
    isWritable: false,
    send: (message: Buffer) => {
      if (message.length > SHORT) return false;
      sent.push(message.toString());
      return true;
    },
  };
  const mux = new Mux(OPTIONS, {
    channel,
    tools: new InteractiveTools(),
    traffic: new Traffic(),
    audience: { recent: new RecentCallers() },
    queue: { pump: vi.fn() },
    events: { notified: vi.fn() },
  } as unknown as MuxParts);
  return { mux, sent };
}

const client = { principal: { key: 'a' }, capabilities: {} } as unknown as Downstream;

test('a cancel with a long reason reaches it without the reason', () => {
  const { mux, sent } = clogged();
  const frame = frameOf({ id: 7, method: 'tools/call', params: { name: 't' } });
  const request = { frame, client, canceller: undefined } as unknown as Request;
  mux.dispatch(request);
  const reason = 'x'.repeat(SHORT);
  const params = { requestId: 7, reason };
  request.canceller?.cancel(frameOf({ method: 'notifications/cancelled', params }));
  const cancel = { method: 'notifications/cancelled', params: { requestId: 1 } };
  expect(sent.map((text) => JSON.parse(text))).toContainEqual({ jsonrpc: '2.0', ...cancel });
  mux.close(() => new Error('over') as never);
});

test('a request of the gateway’s own that it can’t be asked is over soon', async () => {
  const { mux } = clogged();
  const params = { cursor: 'x'.repeat(SHORT) };
  expect(await mux.request('tools/list', params, 60_000)).toBeUndefined();
  mux.close(() => new Error('over') as never);
});

test('an answer that is too long for it becomes an error that it can read', () => {
  const { mux, sent } = clogged();
  let asked: ServerRequest | undefined;
  const capabilities = { sampling: {} };
  const sole = {
    ...client,
    capabilities,
    ask: (serverRequest: ServerRequest) => (asked = serverRequest),
  };
  const serverRequests = new ServerRequests({
    server: 's',
    protocol: 'mcp',
    parts: {
      audience: { soleClient: sole },
      metrics: { serverRequests: { inc: vi.fn() } },
    },
    calls: { all: () => [] },
    send: (message: Buffer) => mux.notify(message),
  } as unknown as ServerRequestsContext);
  serverRequests.ask(frameOf({ id: 'q', method: 'sampling/createMessage', params: {} }));
  asked?.settle(frameOf({ id: 1, result: { text: 'x'.repeat(SHORT) } }));
  expect(sent).toHaveLength(1);
  expect(JSON.parse(sent[0] ?? '')).toMatchObject({ id: 'q', error: { code: -32603 } });
  expect(sent[0]).toContain('this server does not read its input');
  expect(serverRequests.size).toBe(0);
});
