// Whose calls go to a server, and what callers are told whose call waited too long.
import { expect, it, onTestFinished, vi } from 'vitest';
import type { GatewayError } from '../../../src/base/errors.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import { InteractiveTools } from '../../../src/mux/interactive-tools.ts';
import type { Request } from '../../../src/ports/request.ts';
import { Admission, type AdmissionContext } from '../../../src/upstream/admission.ts';

const ASK = scan(
  Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}'),
);

/** The failure of a call of `ask` that never got its turn. */
function failureWhile(
  isLaneBusy: boolean,
  isKnownToAsk: boolean,
  { isWritable = true } = {},
): Promise<GatewayError> {
  const tools = new InteractiveTools();
  if (isKnownToAsk) tools.learn(['ask']);
  const timeouts = { queue: 1, start: 1, request: 1, requestMax: 1 };
  const limits = { queue: 8, inFlight: 1 };
  const mux = { isWritable, inFlight: 1, hasInteractiveCallOfOthers: () => isLaneBusy };
  const admission = new Admission({
    options: { name: 'one', timeouts, limits },
    tools,
    state: () => 'ready',
    mux: () => mux,
    failsFast: () => false,
    startsInMs: () => 0,
    lastFailure: () => '',
    start: () => undefined,
  } as unknown as AdmissionContext);
  const { promise, resolve } = Promise.withResolvers<GatewayError>();
  const client = { principal: { key: 'bob', kind: 'key' } };
  admission.admit({ frame: ASK, client, settle: resolve } as unknown as Request);
  return promise;
}

it('are told that somebody else is being asked, and what to do', async () => {
  const { reason, outcome, message } = await failureWhile(true, true);
  expect({ reason, outcome }).toEqual({ reason: 'queue_timeout', outcome: 'not_sent' });
  expect(message).toContain('tool "ask" is interactive');
  expect(message).toContain('waiting for its user to answer');
  expect(message).toContain('set sharing: session for this server');
});

it('are told that the server does not read', async () => {
  const { reason, message } = await failureWhile(false, false, { isWritable: false });
  expect(reason).toBe('queue_timeout');
  expect(message).toContain('has not read earlier messages');
});

it.each([
  [false, true],
  [true, false],
])(
  'are told that the server is busy otherwise (another call in flight %s, known to ask %s)',
  async (isBusy, asks) => {
    const { reason, message } = await failureWhile(isBusy, asks);
    expect(reason).toBe('queue_timeout');
    expect(message).toContain('too busy to take the call within timeouts.queue');
  },
);

/** A ready server with eight leases, at which nothing ever ends unless a test says so. */
function eightPlaces(sharing: string) {
  const held: { request: Request; abandonedAtMs: undefined }[] = [];
  const mux = {
    isWritable: true,
    get inFlight() {
      return held.length;
    },
    calls: () => held.values(),
    hasInteractiveCallOfOthers: () => false,
    dispatch: (request: Request) => held.push({ request, abandonedAtMs: undefined }),
  };
  const admission = new Admission({
    options: {
      name: 'one',
      sharing,
      timeouts: { queue: 60_000, start: 1, request: 1, requestMax: 1 },
      limits: { queue: 99, inFlight: 8 },
    },
    tools: new InteractiveTools(),
    state: () => 'ready',
    mux: () => mux,
    failsFast: () => false,
    startsInMs: () => 0,
    lastFailure: () => '',
    start: () => undefined,
  } as unknown as AdmissionContext);
  const call = (key: string, kind: string | undefined, times: number): void => {
    for (let i = 0; i < times; i++) {
      const client = { principal: { key, kind } };
      admission.admit({ frame: ASK, client, settle: () => undefined } as unknown as Request);
    }
  };
  const countOf = (key: string): number =>
    held.filter(({ request }) => request.client.principal.key === key).length;
  onTestFinished(() => admission.refuseWaiting());
  return { admission, held, call, heldBy: countOf };
}

it('one principal leaves a quarter of the places of a shared server to others', () => {
  const { admission, held, call, heldBy } = eightPlaces('shared');
  call('bob', 'key', 20);
  expect([heldBy('bob'), admission.queued]).toEqual([6, 14]);
  call('alice', 'key', 3);
  expect([heldBy('bob'), heldBy('alice'), admission.queued]).toEqual([6, 2, 15]);
  held.shift();
  admission.pump();
  expect([heldBy('bob'), heldBy('alice')]).toEqual([6, 2]);
  // Hers overtakes all of his that wait.
  held.splice(
    held.findIndex(({ request }) => request.client.principal.key === 'alice'),
    1,
  );
  admission.pump();
  expect([heldBy('bob'), heldBy('alice'), admission.queued]).toEqual([6, 2, 13]);
});

it.each([
  ['a server of its own', 'principal', 'key'],
  ['a gateway without auth', 'shared', 'anonymous'],
])('at %s it has all of them', (_, sharing, kind) => {
  const { admission, call, heldBy } = eightPlaces(sharing);
  call('bob', kind, 20);
  expect([heldBy('bob'), admission.queued]).toEqual([8, 12]);
});

/** A server at which somebody else is being asked for as long as the test takes. */
function whileOthersAreAsked(learn: (tools: InteractiveTools) => void) {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const tools = new InteractiveTools();
  learn(tools);
  const dispatch = vi.fn();
  const mux = {
    isWritable: true,
    inFlight: 1,
    hasInteractiveCallOfOthers: () => true,
    calls: () => [],
    dispatch,
  };
  const admission = new Admission({
    options: {
      name: 'one',
      sharing: 'shared',
      timeouts: { queue: 5_000, start: 1, request: 60_000, requestMax: 600_000 },
      limits: { queue: 9, inFlight: 8 },
    },
    tools,
    state: () => 'ready',
    mux: () => mux,
    failsFast: () => false,
    startsInMs: () => 0,
    lastFailure: () => '',
    start: () => undefined,
  } as unknown as AdmissionContext);
  const client = { principal: { key: 'bob', kind: 'key' } };
  admission.admit({ frame: ASK, client, settle: () => undefined } as unknown as Request);
  onTestFinished(() => admission.refuseWaiting());
  return dispatch;
}

/** The tool was called before, and asked nothing. */
function callQuietly(tools: InteractiveTools): void {
  for (let id = 1; id <= 8; id++) tools.noteQuiet({ id, interactiveTool: undefined, tool: 'ask' });
}

it('a tool that asked nothing before waits a second at most for others to be asked', () => {
  const dispatch = whileOthersAreAsked((tools) => {
    callQuietly(tools);
    tools.learn(['ask', 'another']);
  });
  vi.advanceTimersByTime(700);
  expect(dispatch).not.toHaveBeenCalled();
  vi.advanceTimersByTime(300);
  expect(dispatch).toHaveBeenCalledOnce();
});

it.each([
  ['is known to ask', (tools: InteractiveTools) => tools.learn(['ask'])],
  [
    'may ask, as far as anybody knows',
    (tools: InteractiveTools) => tools.learn(['ask', 'another']),
  ],
])('a tool that %s waits until they have been', (_, learn) => {
  const dispatch = whileOthersAreAsked(learn);
  vi.advanceTimersByTime(30_000);
  expect(dispatch).not.toHaveBeenCalled();
});
