// Answers whose id is a text where a number was sent: whose they are is clear, so nobody waits in vain.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { GatewayError } from '../../../src/base/errors.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import { InteractiveTools } from '../../../src/mux/interactive-tools.ts';
import { Mux } from '../../../src/mux/mux.ts';
import type { MuxParts } from '../../../src/mux/mux-contract.ts';
import { RecentCallers } from '../../../src/mux/recent-callers.ts';
import { RareLine } from '../../../src/observe/rare-line.ts';
import { Traffic } from '../../../src/observe/traffic.ts';
import type { Request } from '../../../src/ports/request.ts';
import { settleBy } from '../../support/outcomes.ts';

const LIMITS = { timeouts: { request: 60_000, requestMax: 60_000 } };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function muxWithCall() {
  const events = { misnamed: vi.fn(), violated: vi.fn() };
  const mux = new Mux({ server: 's', protocol: 'mcp', ...LIMITS }, {
    channel: { isWritable: true, send: () => true },
    tools: new InteractiveTools(),
    traffic: new Traffic(),
    audience: { recent: new RecentCallers() },
    queue: { pump: vi.fn() },
    lists: { note: vi.fn() },
    logger: { warn: ({ id }: { id: number }) => events.misnamed(id) },
    events,
  } as unknown as MuxParts);
  const text = '{"jsonrpc":"2.0","id":"own","method":"tools/call","params":{"name":"t"}}';
  const fail = vi.fn<(failure: GatewayError) => void>();
  const respond = vi.fn();
  const client = { principal: { key: 'a' } };
  const settle = settleBy({ fail, respond });
  mux.dispatch({ frame: scan(Buffer.from(text)), client, settle } as unknown as Request);
  const answer = (id: string): void =>
    mux.receive(Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{}}`));
  return { mux, events, fail, respond, answer };
}

it.each(['"1"', '"1.0"', '" 1 "', '"\\u0031"'])('%s for 1 fails that call', (id) => {
  const { mux, events, fail, answer } = muxWithCall();
  answer(id);
  answer(id);
  vi.advanceTimersByTime(200);
  expect(fail).toHaveBeenCalledOnce();
  const [failure] = fail.mock.calls[0] ?? [];
  expect(failure).toMatchObject({ reason: 'server_protocol_error', outcome: 'unknown' });
  expect(failure?.message).toContain('answered with the id "1", a string, instead of the number 1');
  expect(events.misnamed).toHaveBeenCalledExactlyOnceWith(1);
  // Others would lose more by a restart.
  expect(events.violated).not.toHaveBeenCalled();
  expect(mux.inFlight).toBe(0);
});

it('the right answer behind it still counts', () => {
  const { fail, respond, answer, events } = muxWithCall();
  answer('"1"');
  answer('1');
  vi.advanceTimersByTime(200);
  expect(respond).toHaveBeenCalledOnce();
  expect(fail).not.toHaveBeenCalled();
  expect(events.misnamed).not.toHaveBeenCalled();
});

it.each(['"2"', '"own"', '"one"', '""', '2', '"-1"', '"1e0"'])('%s is nobody’s', (id) => {
  const { mux, fail, answer } = muxWithCall();
  answer(id);
  vi.advanceTimersByTime(200);
  expect(fail).not.toHaveBeenCalled();
  expect(mux.inFlight).toBe(1);
  mux.close(() => new Error('over') as GatewayError);
});

it('a handshake that is answered so does not wait for its time to be over', async () => {
  const { mux, answer } = muxWithCall();
  const own = mux.request('initialize', {}, 30_000);
  answer('"2"');
  vi.advanceTimersByTime(200);
  expect(await own).toBeUndefined();
  mux.close(() => new Error('over') as GatewayError);
});

it('the log says it once a minute, with how often it was', () => {
  const lines: [number, string][] = [];
  const line = new RareLine<string>((count, about) => lines.push([count, about]));
  for (const about of ['a', 'b', 'c']) line.note(about);
  vi.advanceTimersByTime(60_000);
  line.note('d');
  line.note('e');
  expect(lines).toEqual([
    [1, 'a'],
    [3, 'd'],
  ]);
});
