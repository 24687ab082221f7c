import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { IdleMemory } from '../../../src/app/idle-memory.ts';

const MIB = 1024 * 1024;
const PERIOD_MS = 10_000;

/** A process whose figures a test sets; a collection leaves what is live. */
function process() {
  const state = { utilization: 0, resident: 100 * MIB, heap: 40 * MIB, live: 100 * MIB };
  const done: string[] = [];
  const memory = new IdleMemory({
    utilization: () => state.utilization,
    residentBytes: () => state.resident,
    heapBytes: () => state.heap,
    collect: () => done.push('collect'),
    compact: () => {
      done.push('compact');
      state.resident = state.live;
    },
  });
  return { state, done, memory };
}

describe('memory of an idle gateway', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is given back after a burst, within a minute', () => {
    const { state, done, memory } = process();
    state.resident = 300 * MIB;
    vi.advanceTimersByTime(40_000);
    expect(done).toEqual(['collect', 'compact']);
    expect(state.resident).toBe(100 * MIB);
    memory.close();
  });

  it('is given back once more a while later, since much may still be in use the first time', () => {
    const { state, done, memory } = process();
    state.resident = 300 * MIB;
    state.live = 250 * MIB;
    vi.advanceTimersByTime(11_000);
    expect(state.resident).toBe(250 * MIB);
    state.live = 100 * MIB;
    vi.advanceTimersByTime(50_000);
    expect(state.resident).toBe(100 * MIB);
    vi.advanceTimersByTime(600_000);
    expect(done).toEqual(['collect', 'compact', 'collect', 'compact']);
    memory.close();
  });

  it('is left alone while the gateway works, and while it has not grown', () => {
    const { state, done, memory } = process();
    vi.advanceTimersByTime(10 * PERIOD_MS);
    state.resident = 300 * MIB;
    state.utilization = 0.05;
    vi.advanceTimersByTime(10 * PERIOD_MS);
    expect(done).toEqual([]);
    memory.close();
  });

  it('is collected seldom, though it grows again at once', () => {
    const { state, done, memory } = process();
    vi.advanceTimersByTime(PERIOD_MS);
    for (let period = 0; period < 8; period += 1) {
      state.resident = 300 * MIB;
      vi.advanceTimersByTime(PERIOD_MS);
    }
    expect(done).toEqual(['collect', 'compact', 'collect', 'compact']);
    memory.close();
  });

  it('is not compacted where so much is in use that this would hold up calls', () => {
    const { state, done, memory } = process();
    vi.advanceTimersByTime(PERIOD_MS);
    state.resident = 500 * MIB;
    state.heap = 300 * MIB;
    vi.advanceTimersByTime(10 * PERIOD_MS);
    expect(done).toEqual(['collect']);
    memory.close();
  });

  it('is collected once after the start, in the first second that is idle', () => {
    const { state, done, memory } = process();
    memory.settle();
    state.utilization = 0.5;
    vi.advanceTimersByTime(1_500);
    expect(done).toEqual([]);
    state.utilization = 0;
    vi.advanceTimersByTime(20_000);
    expect(done).toEqual(['collect', 'compact']);
    memory.close();
  });

  it('is left alone after the end', () => {
    const { state, done, memory } = process();
    vi.advanceTimersByTime(PERIOD_MS);
    memory.close();
    state.resident = 300 * MIB;
    vi.advanceTimersByTime(10 * PERIOD_MS);
    expect(done).toEqual([]);
  });
});
