/**
 * How long a server request waits for a client: on a call's stream as long as the call, elsewhere
 * until somebody reads it.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { scan } from '../../../src/jsonrpc/scan.ts';
import type { Request } from '../../../src/ports/request.ts';
import { PendingServerRequests } from '../../../src/session/pending-server-requests.ts';
import { serverRequestOf } from '../../support/outcomes.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function setUp(isOpen: boolean, push: () => boolean) {
  const sent: string[] = [];
  const notificationWriter = {
    isOpen,
    send: (message: Buffer) => void sent.push(message.toString()),
    prune: () => undefined,
    close: () => undefined,
  };
  const serverRequest = serverRequestOf(
    scan(Buffer.from('{"jsonrpc":"2.0","id":"s","method":"roots/list"}')),
  );
  const request = { push } as unknown as Request;
  return { sent, serverRequest, request, asked: new PendingServerRequests(notificationWriter) };
}

describe('a server request', () => {
  it('on the stream of its call has no limit of its own', () => {
    const { sent, serverRequest, request, asked } = setUp(false, () => true);
    asked.ask(serverRequest, request);
    vi.advanceTimersByTime(3_600_000);
    expect(sent).toEqual([]);
    expect(serverRequest.refuse).not.toHaveBeenCalled();
    expect(asked.size).toBe(1);
  });

  it.each([
    ['of a call without a stream', true],
    ['outside any call', false],
  ])('%s is refused after 30 s when nobody reads', (_, hasCall) => {
    const { sent, serverRequest, request, asked } = setUp(false, () => false);
    asked.ask(serverRequest, hasCall ? request : undefined);
    expect(sent).toHaveLength(1);
    vi.advanceTimersByTime(29_900);
    expect(serverRequest.refuse).not.toHaveBeenCalled();
    vi.advanceTimersByTime(200);
    expect(serverRequest.refuse).toHaveBeenCalledOnce();
    expect(asked.size).toBe(0);
  });

  it('that somebody reads has ten minutes more', () => {
    const { serverRequest, request, asked } = setUp(true, () => false);
    asked.ask(serverRequest, request);
    vi.advanceTimersByTime(60_000);
    expect(serverRequest.refuse).not.toHaveBeenCalled();
    vi.advanceTimersByTime(600_000);
    expect(serverRequest.refuse).toHaveBeenCalledOnce();
  });

  it('is answered once, and its limit is gone with it', () => {
    const { sent, serverRequest, asked } = setUp(false, () => false);
    asked.ask(serverRequest, undefined);
    const { id } = JSON.parse(sent[0] ?? '') as { id: number };
    const response = scan(Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{}}`));
    expect(asked.answer(response)).toBe(true);
    expect(asked.answer(response)).toBe(false);
    vi.advanceTimersByTime(3_600_000);
    expect(serverRequest.answer).toHaveBeenCalledOnce();
    expect(serverRequest.refuse).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('whose stream is cut while it is asked is refused with the rest', () => {
    const { sent, serverRequest, request, asked } = setUp(false, () => {
      asked.close();
      return false;
    });
    asked.ask(serverRequest, request);
    expect(serverRequest.refuse).toHaveBeenCalledOnce();
    expect(sent).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
