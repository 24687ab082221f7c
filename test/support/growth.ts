/**
 * How the work of a function grows with its input: CPU time of this thread over several doublings. A linear
 * function doubles with its input, a quadratic one takes four times as long. Other threads don't count, and
 * the least of two runs leaves out what a busy machine does to single ones.
 */
const DOUBLINGS = 3;
/** What takes less in all is too short to say anything, and harms nobody. */
const FLOOR_MS = 40;
const TRIES = 3;

/** The factor for each doubling; 0 where even the longest input takes next to no time. */
export function growthOf<T>(
  length: number,
  make: (length: number) => T,
  run: (input: T) => void,
  tries = TRIES,
): number {
  let least = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < tries && least > 3; attempt++) {
    least = Math.min(least, measured(length, make, run));
  }
  return least;
}

function measured<T>(length: number, make: (length: number) => T, run: (input: T) => void): number {
  const longest = make(length * 2 ** DOUBLINGS);
  // The first run also compiles.
  if (cpuMs(() => run(longest)) < FLOOR_MS) return 0;
  const shortMs = leastMs(make(length), run);
  const longMs = leastMs(longest, run);
  if (longMs < FLOOR_MS) return 0;
  return (longMs / Math.max(shortMs, 0.1)) ** (1 / DOUBLINGS);
}

function leastMs<T>(input: T, run: (input: T) => void): number {
  return Math.min(
    cpuMs(() => run(input)),
    cpuMs(() => run(input)),
  );
}

function cpuMs(task: () => void): number {
  const before = process.threadCpuUsage();
  task();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
