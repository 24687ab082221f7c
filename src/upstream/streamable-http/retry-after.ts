// How long a server wants to be left alone: the Retry-After header (RFC 9110 10.2.3).
import { wallClockMs } from '../../base/clock.ts';

const MAX_MS = 86_400_000;

/**
 * Reads the header.
 * @param value seconds, or a date
 * @returns milliseconds from now; undefined when it says nothing that can be read
 */
export function retryAfterMs(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Math.min(Number(value) * 1_000, MAX_MS);
  const atMs = /^[A-Z][a-z]{2}, /.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : Math.min(Math.max(atMs - wallClockMs(), 0), MAX_MS);
}
