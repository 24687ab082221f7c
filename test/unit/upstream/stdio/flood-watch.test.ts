// A process that writes what nobody waits for: how much of it is a flood.
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { FLOOD_SECONDS, FloodWatch } from '../../../../src/upstream/stdio/flood-watch.ts';

const MIB = 1024 * 1024;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
});

/** Lets a process write `bytes` in each of `seconds`. @returns whether it was a flood by then */
function write(watch: FloodWatch, seconds: number, bytes: number, answers = 0): boolean {
  let isFlood = false;
  for (let second = 0; second < seconds; second++) {
    for (let part = 0; part < 10; part++) isFlood = watch.note(bytes / 10);
    for (let answer = 0; answer < answers; answer++) watch.noteAnswer();
    vi.advanceTimersByTime(1_000);
  }
  return isFlood || watch.note(0);
}

it('is one after ten seconds', () => {
  expect(write(new FloodWatch(), FLOOD_SECONDS - 1, 5 * MIB)).toBe(false);
  expect(write(new FloodWatch(), FLOOD_SECONDS, 5 * MIB)).toBe(true);
});

it('is none when there is a quiet second between', () => {
  const watch = new FloodWatch();
  expect(write(watch, FLOOD_SECONDS - 1, 5 * MIB)).toBe(false);
  expect(write(watch, 1, MIB)).toBe(false);
  expect(write(watch, FLOOD_SECONDS - 1, 5 * MIB)).toBe(false);
});

it('is none when it is a lot now and then', () => {
  const watch = new FloodWatch();
  for (let time = 0; time < 20; time++) {
    expect(write(watch, 1, 5 * MIB)).toBe(false);
    vi.advanceTimersByTime(5_000);
  }
});

it('is none when calls are answered meanwhile', () => {
  expect(write(new FloodWatch(), 30, 5 * MIB, 200)).toBe(false);
});

it('is one by the number of lines too, however short', () => {
  const watch = new FloodWatch();
  let isFlood = false;
  for (let second = 0; second < FLOOD_SECONDS; second++) {
    for (let line = 0; line < 9_000; line++) isFlood = watch.note(1);
    vi.advanceTimersByTime(1_000);
  }
  expect(isFlood || watch.note(1)).toBe(true);
});
