// What callers are told whose call waited too long.
import { expect, it } from 'vitest';
import { Admission, type AdmissionContext } from '../../../src/backend/admission.ts';
import type { GatewayError } from '../../../src/base/errors.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import { InteractiveTools } from '../../../src/mux/interactive-tools.ts';
import type { Exchange } from '../../../src/ports/exchange.ts';

const ASK = scan(
  Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}'),
);

/** The failure of a call of `ask` that never got its turn. */
function failureWhile(isLaneBusy: boolean, isKnownToAsk: boolean): Promise<GatewayError> {
  const tools = new InteractiveTools();
  if (isKnownToAsk) tools.learn([ASK]);
  const timeouts = { queueMs: 1, startMs: 1, requestMs: 1, requestMaxMs: 1 };
  const limits = { queue: 8, inFlight: 1 };
  const mux = { isWritable: true, inFlight: 1, isLaneBusyFor: () => isLaneBusy };
  const admission = new Admission({
    options: { name: 'one', timeouts, limits },
    tools,
    state: () => 'ready',
    mux: () => mux,
    failsFast: () => false,
    lastFailure: () => '',
    start: () => undefined,
  } as unknown as AdmissionContext);
  const { promise, resolve } = Promise.withResolvers<GatewayError>();
  admission.admit({ frame: ASK, client: {}, fail: resolve } as unknown as Exchange);
  return promise;
}

it('are told that somebody else is being asked, and what to do', async () => {
  const { reason, outcome, message } = await failureWhile(true, true);
  expect({ reason, outcome }).toEqual({ reason: 'queue_timeout', outcome: 'not_sent' });
  expect(message).toContain('its tool "ask" asks its caller questions');
  expect(message).toContain('waiting for a person to answer');
  expect(message).toContain('With sharing: session no client waits for another.');
});

it.each([
  [false, true],
  [true, false],
])(
  'are told that the server is busy otherwise (lane busy %s, known to ask %s)',
  async (lane, asks) => {
    const { reason, message } = await failureWhile(lane, asks);
    expect(reason).toBe('queue_timeout');
    expect(message).toContain('too busy to take the call within timeouts.queue');
  },
);
