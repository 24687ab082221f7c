/**
 * A modern client's call at a legacy server: who leaves when, and when a suspended call is too old.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { scan } from '../../../src/jsonrpc/scan.ts';
import type { ServerRequest } from '../../../src/ports/downstream.ts';
import type { Lease } from '../../../src/ports/lease.ts';
import type { Request } from '../../../src/ports/request.ts';
import { ModernToLegacy } from '../../../src/translate/modern-to-legacy.ts';
import { StateSealer } from '../../../src/translate/request-state.ts';
import { ModernResultEncoder } from '../../../src/translate/result-text.ts';
import { SuspendedCalls } from '../../../src/translate/suspended-calls.ts';
import { serverRequestOf, settleBy } from '../../support/outcomes.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const TTL_MS = 1_000;
const message = (members: object) =>
  scan(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...members })));

function exchangeOf(params: object, severity?: number) {
  const request = {
    frame: message({ method: 'tools/call', params: { name: 'x', ...params } }),
    client: {
      principal: { key: 'p' },
      version: '2026-07-28',
      info: undefined,
      capabilities: { roots: {} },
      logThreshold: severity,
    },
    canceller: undefined,
    isSettled: false,
    answer: vi.fn((_result: Buffer) => {
      request.isSettled = true;
    }),
    settle: settleBy({ answer: (result) => request.answer(result) }),
  };
  return request as typeof request & Request;
}

function setUp(severity?: number) {
  const joined = Promise.withResolvers<void>();
  const done = vi.fn();
  const lease = { dispatch: vi.fn(), join: () => joined.promise, leave: done };
  const sealer = new StateSealer([]);
  const suspendedCalls = new SuspendedCalls<ModernToLegacy>(TTL_MS);
  const first = exchangeOf({}, severity);
  const place = {
    lease: lease as unknown as Lease,
    encoder: new ModernResultEncoder({ name: 's' }),
  };
  const ownerOf = ({ key }: { key: string }): string => key;
  const calls = { endpoint: '/', suspendedCalls, sealer, ownerOf };
  const call = new ModernToLegacy(first, place, calls, lease.dispatch);
  call.start();
  return { joined, lease, sealer, suspendedCalls, done, first, call };
}

describe('a call of a modern client', () => {
  it('that is cancelled while the server is told its log level is never sent', async () => {
    const { joined, lease, done, first, call } = setUp(1);
    first.isSettled = true;
    call.cancel(undefined);
    joined.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(lease.dispatch).not.toHaveBeenCalled();
    expect(done).toHaveBeenCalledOnce();
  });

  it('outlives its suspension while the client has come back and waits', () => {
    const { sealer, suspendedCalls, first, call } = setUp();
    const serverRequest = serverRequestOf(message({ method: 'roots/list' }));
    call.ask(serverRequest satisfies ServerRequest);
    vi.advanceTimersByTime(20);
    const { requestState } = JSON.parse(String(first.answer.mock.calls[0]?.[0]));
    const claims = sealer.open(requestState);
    if (claims === undefined) throw new Error('no state');
    const retry = exchangeOf({ inputResponses: { r1: { roots: [] } } });
    call.resume(retry, claims);
    expect(serverRequest.answer).toHaveBeenCalledOnce();
    vi.advanceTimersByTime(TTL_MS);
    call.settle(message({ result: { content: [] } }));
    expect(retry.answer).toHaveBeenCalledOnce();
    expect(suspendedCalls.size).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  describe('whose client does not come back', () => {
    function giveUp() {
      const harness = setUp();
      const serverRequest = serverRequestOf(message({ method: 'roots/list' }));
      const holder = { id: 1, cancel: vi.fn() };
      harness.call.canceller = holder;
      harness.call.ask(serverRequest);
      vi.advanceTimersByTime(20 + TTL_MS);
      expect(serverRequest.refuse).toHaveBeenCalledOnce();
      expect(holder.cancel).not.toHaveBeenCalled();
      return { ...harness, serverRequest, holder };
    }

    it('is not cancelled when the server ends it', () => {
      const { call, done, holder, first } = giveUp();
      call.settle(message({ result: { content: [] } }));
      expect(done).toHaveBeenCalledOnce();
      vi.advanceTimersByTime(TTL_MS * 10);
      expect(holder.cancel).not.toHaveBeenCalled();
      expect(first.answer).toHaveBeenCalledOnce();
      expect(vi.getTimerCount()).toBe(0);
    });

    it('is cancelled when the server goes on', () => {
      const { done, holder } = giveUp();
      vi.advanceTimersByTime(1_000);
      expect(holder.cancel).toHaveBeenCalledOnce();
      expect(done).toHaveBeenCalledOnce();
    });

    it('is cancelled when the server asks again', () => {
      const { call, done, serverRequest, holder } = giveUp();
      call.ask(serverRequest);
      expect(serverRequest.refuse).toHaveBeenCalledTimes(2);
      expect(holder.cancel).toHaveBeenCalledOnce();
      expect(done).toHaveBeenCalledOnce();
      expect(vi.getTimerCount()).toBe(0);
    });
  });
});
