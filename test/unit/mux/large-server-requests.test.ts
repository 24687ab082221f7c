// A server request with megabytes of text: what is passed on is not read.
import { expect, it, vi } from 'vitest';
import type { Frame } from '../../../src/jsonrpc/frame.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import { TextWalk } from '../../../src/jsonrpc/text-walk.ts';
import { ServerRequests, type ServerRequestsContext } from '../../../src/mux/server-requests.ts';
import { inputRequired, requiredCapability } from '../../../src/translate/input-requests.ts';
import { serverRequestOf } from '../../support/outcomes.ts';

/** Nobody could parse it any more: its text is written over once it was scanned. */
function unreadable(): Frame {
  const text = 'x'.repeat(2 * 1024 * 1024);
  const message = Buffer.from(
    `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"${text}","mode":"url","elicitationId":"e"}}`,
  );
  const walk = new TextWalk(message);
  while (!walk.step());
  const frame = scan(message);
  const start = message.indexOf(text);
  message.fill('\n', start, start + text.length);
  return frame;
}

it('its client is asked', () => {
  const ask = vi.fn();
  const elicited = vi.fn();
  const client = { capabilities: { elicitation: { url: {} } }, ask };
  const requests = new ServerRequests({
    server: 's',
    protocol: 'mcp',
    parts: {
      audience: { soleClient: client, elicitations: { given: elicited } },
      metrics: { serverRequests: { inc: vi.fn() } },
    },
    calls: { all: () => [] },
  } as unknown as ServerRequestsContext);
  requests.ask(unreadable());
  expect(ask).toHaveBeenCalledOnce();
  expect(elicited).toHaveBeenCalledExactlyOnceWith('e', client);
});

it('a client of the stateless era is asked', () => {
  const frame = unreadable();
  const unanswered = serverRequestOf(frame);
  expect(String(inputRequired(new Map([['e1', unanswered]]), 's'))).toContain('"mode":"url"');
  expect(requiredCapability(frame)).toEqual({ elicitation: { url: {} } });
});
