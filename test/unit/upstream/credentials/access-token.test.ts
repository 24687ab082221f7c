// One access token: how often it is asked for, and when it is let go.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLogger } from '../../../../src/observe/logger.ts';
import { AccessToken } from '../../../../src/upstream/credentials/access-token.ts';
import { notCalled } from '../../../../src/upstream/credentials/http-failure.ts';
import type { IssuedToken } from '../../../../src/upstream/credentials/token-request.ts';
import { retryAfterMs } from '../../../../src/upstream/remote/http-endpoint.ts';

const logger = createLogger({ level: 'fatal', messages: false });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function tokenWith(answer: (nth: number) => Promise<IssuedToken>): {
  token: AccessToken;
  asked: () => number;
} {
  let asked = 0;
  return { token: new AccessToken(() => answer(++asked), logger), asked: () => asked };
}

const good = (nth: number): Promise<IssuedToken> =>
  Promise.resolve({ value: `t${nth}`, lifetimeMs: 600_000 });

describe('an access token', () => {
  it('is asked for once, however many wait', async () => {
    const { token, asked } = tokenWith(good);
    expect(await Promise.all([token.current(), token.current()])).toEqual(['t1', 't1']);
    expect(token.current()).toBe('t1');
    expect(asked()).toBe(1);
  });

  it('is replaced in the background before it runs out', async () => {
    const { token, asked } = tokenWith(good);
    await token.current();
    vi.advanceTimersByTime(539_000);
    expect(token.current()).toBe('t1');
    expect(asked()).toBe(1);
    vi.advanceTimersByTime(2_000);
    expect(token.current()).toBe('t1');
    expect(token.current()).toBe('t1');
    expect(asked()).toBe(2);
    await vi.waitFor(() => expect(token.current()).toBe('t2'));
  });

  it('is not used after its time', async () => {
    const { token } = tokenWith(good);
    await token.current();
    vi.advanceTimersByTime(596_000);
    expect(await token.current()).toBe('t2');
  });

  it('that a server refused is replaced, unless it is a fresh one', async () => {
    const { token, asked } = tokenWith(good);
    await token.current();
    expect(token.refused('t1')).toBe(false);
    vi.advanceTimersByTime(11_000);
    expect(token.refused('t1')).toBe(true);
    expect(await token.current()).toBe('t2');
    // Whoever was on the way with the old one may try with the new one.
    expect(token.refused('t1')).toBe(true);
    expect(asked()).toBe(2);
  });

  it('that can not be had is not asked for all the time', async () => {
    const { token, asked } = tokenWith((nth) =>
      nth < 3 ? Promise.reject(notCalled('no')) : good(nth),
    );
    await expect(token.current()).rejects.toThrow('no');
    await expect(token.current()).rejects.toThrow('no');
    expect(asked()).toBe(1);
    vi.advanceTimersByTime(1_000);
    await expect(token.current()).rejects.toThrow('no');
    expect(asked()).toBe(2);
    vi.advanceTimersByTime(2_000);
    expect(await token.current()).toBe('t3');
  });
});

describe('Retry-After', () => {
  it.each([
    [undefined, undefined],
    ['', undefined],
    ['soon', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['0', 0],
    ['30', 30_000],
    ['999999999', 86_400_000],
    ['Thu, 01 Jan 1970 00:01:00 GMT', 60_000],
    ['Wed, 31 Dec 1969 23:59:00 GMT', 0],
  ])('%j', (value, ms) => {
    vi.setSystemTime(0);
    expect(retryAfterMs(value)).toBe(ms);
  });
});
