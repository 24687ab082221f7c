/** A modern client's call at a legacy server: who leaves when, and when a park is too old. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ModernCall } from '../../../src/bridge/modern-call.ts';
import { Parks } from '../../../src/bridge/parks.ts';
import { StateSealer } from '../../../src/bridge/request-state.ts';
import { ResultDress } from '../../../src/bridge/result-text.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import type { Question } from '../../../src/ports/downstream.ts';
import type { Request } from '../../../src/ports/request.ts';
import type { Seat } from '../../../src/ports/seat.ts';
import { settleBy } from '../../support/outcomes.ts';

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
  const seat = { dispatch: vi.fn(), join: () => joined.promise };
  const sealer = new StateSealer([]);
  const parks = new Parks<ModernCall>(TTL_MS);
  const done = vi.fn();
  const first = exchangeOf({}, severity);
  const context = {
    endpoint: '/',
    seat: seat as unknown as Seat,
    dress: new ResultDress({ name: 's' }),
    parks,
    sealer,
    ownerOf: ({ key }: { key: string }) => key,
    done,
  };
  const call = new ModernCall(first, context, seat.dispatch);
  call.start();
  return { joined, seat, sealer, parks, done, first, call };
}

describe('a call of a modern client', () => {
  it('that is cancelled while the server is told its log level is never sent', async () => {
    const { joined, seat, done, first, call } = setUp(1);
    first.isSettled = true;
    call.cancel(undefined);
    joined.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(seat.dispatch).not.toHaveBeenCalled();
    expect(done).toHaveBeenCalledOnce();
  });

  it('outlives its park while the client has come back and waits', () => {
    const { sealer, parks, first, call } = setUp();
    const question = {
      frame: message({ method: 'roots/list' }),
      answer: vi.fn(),
      refuse: vi.fn(),
      progress: vi.fn(),
    };
    call.ask(question satisfies Question);
    vi.advanceTimersByTime(20);
    const { requestState } = JSON.parse(String(first.answer.mock.calls[0]?.[0]));
    const claims = sealer.open(requestState);
    if (claims === undefined) throw new Error('no state');
    const retry = exchangeOf({ inputResponses: { r1: { roots: [] } } });
    call.resume(retry, claims);
    expect(question.answer).toHaveBeenCalledOnce();
    vi.advanceTimersByTime(TTL_MS);
    call.settle(message({ result: { content: [] } }));
    expect(retry.answer).toHaveBeenCalledOnce();
    expect(parks.size).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  describe('whose client does not come back', () => {
    function giveUp() {
      const rig = setUp();
      const question = {
        frame: message({ method: 'roots/list' }),
        answer: vi.fn(),
        refuse: vi.fn(),
        progress: vi.fn(),
      } satisfies Question;
      const holder = { id: 1, cancel: vi.fn() };
      rig.call.canceller = holder;
      rig.call.ask(question);
      vi.advanceTimersByTime(20 + TTL_MS);
      expect(question.refuse).toHaveBeenCalledOnce();
      expect(holder.cancel).not.toHaveBeenCalled();
      return { ...rig, question, holder };
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
      const { call, done, question, holder } = giveUp();
      call.ask(question);
      expect(question.refuse).toHaveBeenCalledTimes(2);
      expect(holder.cancel).toHaveBeenCalledOnce();
      expect(done).toHaveBeenCalledOnce();
      expect(vi.getTimerCount()).toBe(0);
    });
  });
});
