import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Patience } from '../../../src/router/aggregate/patience.ts';

const WAITS = { connectTimeout: 1_000, listTimeout: 5_000 };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('How long clients wait for one server of an endpoint', () => {
  it('is shared by all: who comes later waits for the rest only, and then not at all', () => {
    const patience = new Patience(WAITS, true);
    expect(patience.toConnect()).toBe(1_000);
    vi.advanceTimersByTime(700);
    expect(patience.toConnect()).toBe(300);
    expect(patience.toList('tools/list', false)).toBe(300);
    vi.advanceTimersByTime(700);
    expect(patience.toConnect()).toBe(0);
    expect(patience.toList('tools/list', false)).toBe(0);
  });

  it('begins anew once the server was ready', () => {
    const patience = new Patience(WAITS, true);
    patience.toConnect();
    vi.advanceTimersByTime(2_000);
    expect(patience.toConnect()).toBe(0);
    patience.ready();
    expect(patience.toConnect()).toBe(1_000);
  });

  it('is longer in lists for a private server, which starts for each client', () => {
    const patience = new Patience(WAITS, false);
    patience.toConnect();
    vi.advanceTimersByTime(2_000);
    expect(patience.toConnect()).toBe(0);
    expect(patience.toList('tools/list', false)).toBe(3_000);
  });

  it('is over for a list that a shared server did not give in time, until it gave it', () => {
    const patience = new Patience(WAITS, true);
    expect(patience.toList('tools/list', true)).toBe(5_000);
    patience.late('tools/list', true);
    expect(patience.toList('tools/list', true)).toBe(0);
    expect(patience.toList('prompts/list', true)).toBe(5_000);
    patience.listed('tools/list');
    expect(patience.toList('tools/list', true)).toBe(5_000);
  });

  it('does not count one private instance that is late against those of others', () => {
    const patience = new Patience(WAITS, false);
    patience.late('tools/list', true);
    expect(patience.toList('tools/list', true)).toBe(5_000);
  });
});
