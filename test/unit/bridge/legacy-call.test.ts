/** A legacy client that does not answer what a modern server asks. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LegacyCall } from '../../../src/bridge/legacy-call.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import type { Downstream, Question } from '../../../src/ports/downstream.ts';
import type { Request } from '../../../src/ports/request.ts';
import type { Seat } from '../../../src/ports/seat.ts';
import { settleBy } from '../../support/outcomes.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const message = (members: object) =>
  scan(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...members })));
const ROOTS = { method: 'roots/list' };

function setUp(ask: (question: Question) => void) {
  const client = {
    capabilities: { roots: {} },
    info: { name: 'c', version: '0' },
    ask: vi.fn(ask),
    withdraw: vi.fn(),
  };
  const answer = vi.fn();
  const request = {
    frame: message({ method: 'tools/call', params: { name: 'x' } }),
    client: client as unknown as Downstream,
    canceller: undefined,
    answer,
    settle: settleBy({ answer }),
  };
  const seat = { severity: undefined, dispatch: vi.fn() };
  const call = new LegacyCall(request as unknown as Request, seat as unknown as Seat);
  call.start();
  const inputRequests = { a: ROOTS, b: ROOTS };
  call.settle(message({ result: { resultType: 'input_required', inputRequests } }));
  return { client, request, seat };
}

describe('a call of a legacy client at a modern server', () => {
  it('ends when the client answers no question, and takes them back', () => {
    const { client, request, seat } = setUp(() => undefined);
    expect(request.answer).not.toHaveBeenCalled();
    vi.advanceTimersByTime(600_000);
    expect(request.answer).toHaveBeenCalledOnce();
    expect(String(request.answer.mock.calls[0])).toContain('"isError":true');
    expect(client.withdraw).toHaveBeenCalledTimes(2);
    expect(seat.dispatch).toHaveBeenCalledOnce();
  });

  it('that ended with a refused question asks no other', () => {
    const { client, request } = setUp((question) => question.refuse({ code: -1, message: '' }));
    expect(client.ask).toHaveBeenCalledOnce();
    expect(request.answer).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('goes on, with no timer left, when all are answered', () => {
    const { seat } = setUp((question) => question.answer(message({ result: { roots: [] } })));
    expect(seat.dispatch).toHaveBeenCalledTimes(2);
    expect(vi.getTimerCount()).toBe(0);
  });
});
