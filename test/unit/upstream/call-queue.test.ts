// Whose calls go to a server and whose is next, who has to go when there is no more room, and what callers are told
// whose call waited too long.
import { expect, it, onTestFinished, vi } from 'vitest';
import type { GatewayError } from '../../../src/base/errors.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import { InteractiveTools } from '../../../src/mux/interactive-tools.ts';
import type { Downstream } from '../../../src/ports/downstream.ts';
import type { Request } from '../../../src/ports/request.ts';
import { CallQueue } from '../../../src/upstream/call-queue.ts';
import type { ServerContext } from '../../../src/upstream/server-context.ts';
import { lifeOf } from './life.ts';

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
  const server = {
    options: { name: 'one', timeouts, limits },
    tools,
  };
  const queue = new CallQueue(server as unknown as ServerContext, lifeOf(mux));
  const { promise, resolve } = Promise.withResolvers<GatewayError>();
  const client = { principal: { key: 'bob', kind: 'key' } };
  queue.admit({ frame: ASK, client, settle: resolve } as unknown as Request);
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
  const server = {
    options: {
      name: 'one',
      sharing,
      timeouts: { queue: 60_000, start: 1, request: 1, requestMax: 1 },
      limits: { queue: 99, inFlight: 8 },
    },
    tools: new InteractiveTools(),
  };
  const queue = new CallQueue(server as unknown as ServerContext, lifeOf(mux));
  const call = (key: string, kind: string | undefined, times: number): void => {
    for (let i = 0; i < times; i++) {
      const client = { principal: { key, kind } };
      queue.admit({ frame: ASK, client, settle: () => undefined } as unknown as Request);
    }
  };
  const countOf = (key: string): number =>
    held.filter(({ request }) => request.client.principal.key === key).length;
  onTestFinished(() => queue.refuseWaiting());
  return { queue, held, call, heldBy: countOf };
}

it('one principal leaves a quarter of the places of a shared server to others', () => {
  const { queue, held, call, heldBy } = eightPlaces('shared');
  call('bob', 'key', 20);
  expect([heldBy('bob'), queue.queued]).toEqual([6, 14]);
  call('alice', 'key', 3);
  expect([heldBy('bob'), heldBy('alice'), queue.queued]).toEqual([6, 2, 15]);
  held.shift();
  queue.pump();
  expect([heldBy('bob'), heldBy('alice')]).toEqual([6, 2]);
  // Hers overtakes all of his that wait.
  held.splice(
    held.findIndex(({ request }) => request.client.principal.key === 'alice'),
    1,
  );
  queue.pump();
  expect([heldBy('bob'), heldBy('alice'), queue.queued]).toEqual([6, 2, 13]);
});

it.each([
  ['a server of its own', 'principal', 'key'],
  ['a gateway without auth', 'shared', 'anonymous'],
])('at %s it has all of them', (_, sharing, kind) => {
  const { queue, call, heldBy } = eightPlaces(sharing);
  call('bob', kind, 20);
  expect([heldBy('bob'), queue.queued]).toEqual([8, 12]);
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
  const server = {
    options: {
      name: 'one',
      sharing: 'shared',
      timeouts: { queue: 5_000, start: 1, request: 60_000, requestMax: 600_000 },
      limits: { queue: 9, inFlight: 8 },
    },
    tools,
  };
  const queue = new CallQueue(server as unknown as ServerContext, lifeOf(mux));
  const client = { principal: { key: 'bob', kind: 'key' } };
  queue.admit({ frame: ASK, client, settle: () => undefined } as unknown as Request);
  onTestFinished(() => queue.refuseWaiting());
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

interface Named extends Request {
  readonly name: string;
}

const clientOf = (key: string, kind = 'key') => ({ principal: { key, kind } }) as Downstream;

function callOf(client: Downstream, name: string): Named {
  return { frame: ASK, client, name, canceller: undefined } as unknown as Named;
}

/** A queue of a server that takes as many calls as a test lets it. */
function queueOf(most = 100) {
  const displaced: string[] = [];
  const dispatched: string[] = [];
  let room = 0;
  const mux = {
    isWritable: true,
    get inFlight() {
      return 1 - room;
    },
    calls: () => [],
    hasInteractiveCallOfOthers: (_client: Downstream) => false,
    dispatch: (request: Request) => {
      room--;
      dispatched.push((request as Named).name);
    },
  };
  const tools = new InteractiveTools();
  tools.learn(['ask']);
  const timeouts = { queue: 60_000, start: 1, request: 60_000, requestMax: 600_000 };
  const options = { name: 'one', timeouts, limits: { queue: most, inFlight: 1 } };
  const queue = new CallQueue({ options, tools } as unknown as ServerContext, lifeOf(mux));
  onTestFinished(() => queue.refuseWaiting());
  /** @returns whether it may wait */
  const add = (call: Named): boolean => {
    let isRefused = false;
    call.settle = () => {
      isRefused = true;
      // One that never waited was not displaced.
      if (call.canceller !== undefined) displaced.push(call.name);
    };
    queue.admit(call);
    return !isRefused;
  };
  const take = (count: number): string[] => {
    room = count;
    queue.pump();
    room = 0;
    return dispatched.splice(0);
  };
  const takeAll = (): string[] => take(Number.POSITIVE_INFINITY);
  return { queue, displaced, add, take, takeAll, mux };
}

it('callers take turns, each in its own order', () => {
  const { add, takeAll } = queueOf();
  const [a, b, c] = [clientOf('a'), clientOf('b'), clientOf('c')];
  for (const name of ['a1', 'a2', 'a3', 'a4']) add(callOf(a, name));
  add(callOf(b, 'b1'));
  add(callOf(b, 'b2'));
  add(callOf(c, 'c1'));
  expect(takeAll()).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
});

it('all sessions of one principal are one caller', () => {
  const { add, takeAll } = queueOf();
  add(callOf(clientOf('a'), 'first session 1'));
  add(callOf(clientOf('a'), 'second session 1'));
  add(callOf(clientOf('b'), 'other'));
  expect(takeAll()).toEqual(['first session 1', 'other', 'second session 1']);
});

it('without authentication each session is a caller of its own', () => {
  const { add, takeAll } = queueOf();
  const [a, b] = [clientOf('anonymous', 'anonymous'), clientOf('anonymous', 'anonymous')];
  for (const name of ['a1', 'a2', 'a3']) add(callOf(a, name));
  add(callOf(b, 'b1'));
  expect(takeAll()).toEqual(['a1', 'b1', 'a2', 'a3']);
});

it('who can’t go now does not lose its turn', () => {
  const { add, take, takeAll, mux } = queueOf();
  const [a, b] = [clientOf('a'), clientOf('b')];
  add(callOf(a, 'a1'));
  add(callOf(b, 'b1'));
  add(callOf(b, 'b2'));
  mux.hasInteractiveCallOfOthers = (client) => client === a;
  expect(take(1)).toEqual(['b1']);
  mux.hasInteractiveCallOfOthers = () => false;
  expect(takeAll()).toEqual(['a1', 'b2']);
});

it('a full queue makes room for somebody else, at the cost of whoever has most calls there', () => {
  const { queue, displaced, add, takeAll } = queueOf(4);
  const [a, b] = [clientOf('a'), clientOf('b')];
  for (const name of ['a1', 'a2', 'a3', 'a4']) expect(add(callOf(a, name))).toBe(true);
  expect(add(callOf(a, 'a5'))).toBe(false);
  expect(add(callOf(b, 'b1'))).toBe(true);
  expect(add(callOf(b, 'b2'))).toBe(true);
  // Both have as many now.
  expect(add(callOf(b, 'b3'))).toBe(false);
  expect(displaced).toEqual(['a4', 'a3']);
  expect(queue.queued).toBe(4);
  expect(takeAll()).toEqual(['a1', 'b1', 'a2', 'b2']);
});

it('a call that is cancelled gives its place back', () => {
  const { queue, add, takeAll } = queueOf();
  const call = callOf(clientOf('a'), 'a1');
  add(call);
  call.canceller?.cancel(undefined);
  call.canceller?.cancel(undefined);
  expect(queue.queued).toBe(0);
  expect(takeAll()).toEqual([]);
});
