/** A legacy client that does not answer what a modern server asks. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { scan } from '../../../src/jsonrpc/scan.ts';
import type { Downstream, ServerRequest } from '../../../src/ports/downstream.ts';
import type { Lease } from '../../../src/ports/lease.ts';
import type { Request } from '../../../src/ports/request.ts';
import { LegacyToModern } from '../../../src/translate/legacy-to-modern.ts';
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

function setUp(ask: (serverRequest: ServerRequest) => void) {
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
  const lease = { severity: undefined, dispatch: vi.fn() };
  const call = new LegacyToModern(request as unknown as Request, lease as unknown as Lease);
  lease.dispatch(call);
  const inputRequests = { a: ROOTS, b: ROOTS };
  call.settle(message({ result: { resultType: 'input_required', inputRequests } }));
  return { client, request, lease };
}

describe('a call of a legacy client at a modern server', () => {
  it('ends when the client answers no server request, and takes them back', () => {
    const { client, request, lease } = setUp(() => undefined);
    expect(request.answer).not.toHaveBeenCalled();
    vi.advanceTimersByTime(600_000);
    expect(request.answer).toHaveBeenCalledOnce();
    expect(String(request.answer.mock.calls[0])).toContain('"isError":true');
    expect(client.withdraw).toHaveBeenCalledTimes(2);
    expect(lease.dispatch).toHaveBeenCalledOnce();
  });

  it('that ended with a refused server request asks no other', () => {
    const { client, request } = setUp((serverRequest) =>
      serverRequest.settle({ code: -1, message: '' }),
    );
    expect(client.ask).toHaveBeenCalledOnce();
    expect(request.answer).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('goes on, with no timer left, when all are answered', () => {
    const { lease } = setUp((serverRequest) =>
      serverRequest.settle(message({ result: { roots: [] } })),
    );
    expect(lease.dispatch).toHaveBeenCalledTimes(2);
    expect(vi.getTimerCount()).toBe(0);
  });
});
