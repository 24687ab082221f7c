// Durations in the configuration (`250ms`, `30s`, `5m`, `2h`), and as the program keeps them: whole
// milliseconds.

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;

/** The longest duration, in milliseconds: the longest wait of a Node timer (about 24 days). */
export const MAX_DURATION_MS = 2 ** 31 - 1;

/**
 * Parses a duration.
 * @param text digits and one unit, no space: `250ms`, `30s`, `5m`, `2h`
 * @returns whole milliseconds, or undefined if the text is not a duration or is too long
 */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,10})(ms|s|m|h)$/.exec(text);
  if (match === null) {
    return undefined;
  }
  const ms = Number(match[1]) * UNITS[match[2] as keyof typeof UNITS];
  return ms <= MAX_DURATION_MS ? ms : undefined;
}

/**
 * Writes a duration in the largest unit that divides it.
 *
 * @param ms whole milliseconds
 * @returns text that `parseDuration` reads back to the same number
 */
export function formatDuration(ms: number): string {
  if (ms === 0) {
    return '0s';
  }
  for (const unit of ['h', 'm', 's'] as const) {
    if (ms % UNITS[unit] === 0) {
      return `${ms / UNITS[unit]}${unit}`;
    }
  }
  return `${ms}ms`;
}
