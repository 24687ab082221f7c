/**
 * Time that tests can skip, for what lasts so long that nobody should wait for it: the timers and the clock
 * of this process, with a gateway in it, go on as always, and jump when told to. Sockets, and processes of
 * their own, know nothing of it. Jump only when all that has to happen before has happened.
 */
import { afterAll, beforeAll, vi } from 'vitest';

/** Registers the hooks in the current file or `describe`; before those that start a gateway. */
export function useSkippedTime(): { readonly skip: (ms: number) => Promise<void> } {
  beforeAll(() => {
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
      shouldAdvanceTime: true,
    });
  });
  afterAll(() => {
    vi.useRealTimers();
  });
  return {
    skip: async (ms) => {
      await vi.advanceTimersByTimeAsync(ms);
    },
  };
}
