// Exponential backoff with jitter, computed from the number of failures.

export interface BackoffOptions {
  readonly firstMs: number;
  readonly capMs: number;
}

/**
 * How long to wait before the next try.
 * @param failures failures in a row so far, from 1
 * @param random in [0, 1); jitter is +-20 %
 * @returns milliseconds
 */
export function backoffMs(
  failures: number,
  options: BackoffOptions,
  random: number = Math.random(),
): number {
  const doublings = Math.min(failures - 1, 30);
  const plain = Math.min(options.firstMs * 2 ** doublings, options.capMs);
  return Math.round(plain * (0.8 + 0.4 * random));
}
