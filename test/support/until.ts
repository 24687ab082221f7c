/**
 * Waiting for a condition by polling, with a bound. The only place in the tests that polls; everything
 * else waits on events. The bound only says when to give up: it never decides what a test proves.
 */
import { setTimeout as delay } from 'node:timers/promises';

/** How long anything is waited for, unless a test says otherwise: long, since machines are busy. */
export const PATIENCE_MS = 45_000;

export interface UntilOptions {
  /** What is waited for, for the error message. */
  readonly what?: string;
  /** Gives up after this many milliseconds. Default `PATIENCE_MS`. */
  readonly timeoutMs?: number;
  /** Milliseconds between two looks. Default 10. */
  readonly intervalMs?: number;
}

type Falsy = false | 0 | '' | null | undefined;

/**
 * Calls `probe` until it returns something truthy and returns that.
 * A probe that throws counts as "not yet"; its last error is the cause of the final one.
 * @throws Error when the bound is reached.
 */
export async function until<T>(
  probe: () => T | Promise<T>,
  options: UntilOptions = {},
): Promise<Exclude<T, Falsy>> {
  const { what = 'condition', timeoutMs = PATIENCE_MS, intervalMs = 10 } = options;
  const deadline = Date.now() + timeoutMs;
  let lastError: unknown;
  for (;;) {
    try {
      const value = await probe();
      if (value) return value as Exclude<T, Falsy>;
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    if (Date.now() >= deadline) {
      throw new Error(`not within ${timeoutMs} ms: ${what}`, { cause: lastError });
    }
    await delay(intervalMs);
  }
}

/** Settles as `promise` does, or rejects after `timeoutMs` naming `what` was waited for. */
export async function within<T>(promise: Promise<T>, timeoutMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const bound = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${timeoutMs} ms: ${what}`)), timeoutMs);
  });
  try {
    return await Promise.race([promise, bound]);
  } finally {
    clearTimeout(timer);
  }
}
