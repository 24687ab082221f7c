// The few statistics that the benchmark needs. Pure functions, tested in test/unit/bench.

/**
 * The value below which a share of the samples lies (nearest rank).
 * @param samples in any order; not changed
 * @param share 0 to 1, 0.99 for p99
 * @returns NaN for no samples
 */
export function percentile(samples: ArrayLike<number>, share: number): number {
  if (samples.length === 0) return Number.NaN;
  const sorted = Float64Array.from(samples).sort();
  const rank = Math.max(1, Math.ceil(share * sorted.length));
  return sorted[Math.min(rank, sorted.length) - 1] ?? Number.NaN;
}

/**
 * The middle value; the mean of the two middle ones for an even number of samples.
 * @returns NaN for no samples
 */
export function median(samples: ArrayLike<number>): number {
  if (samples.length === 0) return Number.NaN;
  const sorted = Float64Array.from(samples).sort();
  const upper = sorted[sorted.length >> 1] ?? Number.NaN;
  const lower = sorted[(sorted.length - 1) >> 1] ?? Number.NaN;
  return (lower + upper) / 2;
}

/**
 * The median of one side's ratio to the other within each round. Rounds are interleaved, so what slows
 * the machine for a while slows both sides of a ratio and cancels out.
 * @param values one a round
 * @param yardstick one a round, in the same order; extra rounds on either side are left out
 * @returns NaN when no round has both
 */
export function medianRatio(values: readonly number[], yardstick: readonly number[]): number {
  const ratios: number[] = [];
  for (const [round, value] of values.entries()) {
    const base = yardstick[round];
    if (base !== undefined && base > 0 && Number.isFinite(value)) ratios.push(value / base);
  }
  return median(ratios);
}
