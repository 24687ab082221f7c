// Monotonic time, and timers that don't keep the process alive. Only this file uses setTimeout and Date.now,
// so a jump of the wall clock can't fire a deadline.

/** Milliseconds since an arbitrary start; never goes backwards. */
export function monotonicMs(): number {
  return performance.now();
}

/** A running timer. */
export interface Timer {
  cancel(): void;
}

/** Runs `task` once after `delayMs`, unless cancelled. */
export function after(delayMs: number, task: () => void): Timer {
  const handle = setTimeout(task, delayMs);
  handle.unref();
  return { cancel: () => clearTimeout(handle) };
}

/** Runs `task` every `periodMs` until cancelled. */
export function every(periodMs: number, task: () => void): Timer {
  const handle = setInterval(task, periodMs);
  handle.unref();
  return { cancel: () => clearInterval(handle) };
}

/** Runs `task` once, after all input that is there now was read. */
export function afterInput(task: () => void): void {
  setImmediate(task);
}

/** Resolves after `delayMs`. */
export function delay(delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, delayMs);
  });
}

/** Blocks the whole process for `ms`. Not to be used while clients are served. */
export function holdUp(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/**
 * Waits for `work`, but not longer than `limitMs`.
 * @returns the value, or `undefined` when the limit came first
 */
export async function within<T>(limitMs: number, work: Promise<T>): Promise<T | undefined> {
  let timer: Timer | undefined;
  const limit = new Promise<undefined>((resolve) => {
    timer = after(limitMs, () => resolve(undefined));
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    timer?.cancel();
  }
}

/** Milliseconds since 1970, for times that are used outside this process. Jumps when the clock is set. */
export function wallClockMs(): number {
  return Date.now();
}

/** A time in milliseconds since 1970 as RFC 3339. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/**
 * Waits, unless `signal` ends the wait.
 * @returns false if `signal` ended the wait
 */
export function pause(delayMs: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const stop = (): void => {
      timer.cancel();
      resolve(false);
    };
    const timer = after(delayMs, () => {
      signal.removeEventListener('abort', stop);
      resolve(true);
    });
    signal.addEventListener('abort', stop, { once: true });
  });
}
