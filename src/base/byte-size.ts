// Sizes in the configuration (`64KiB`, `4MiB`), and as the program keeps them: whole bytes.

const UNITS = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 } as const;

/** The largest size that can be configured, in bytes. It is below the longest string of the runtime. */
export const MAX_BYTE_SIZE = 256 * 1024 ** 2;

/**
 * Parses a size.
 * @param text digits and one unit, no space: `512B`, `64KiB`, `4MiB`
 * @param maxBytes a larger size is refused
 * @returns whole bytes, or undefined if the text is not a size or is too large
 */
export function parseByteSize(text: string, maxBytes = MAX_BYTE_SIZE): number | undefined {
  const match = /^(\d{1,10})(B|KiB|MiB|GiB)$/.exec(text);
  if (match === null) {
    return undefined;
  }
  const bytes = Number(match[1]) * UNITS[match[2] as keyof typeof UNITS];
  return bytes <= maxBytes ? bytes : undefined;
}

/**
 * Writes a size in the largest unit that divides it.
 *
 * @param bytes whole bytes
 * @returns text that `parseByteSize` reads back to the same number
 */
export function formatByteSize(bytes: number): string {
  for (const unit of ['GiB', 'MiB', 'KiB'] as const) {
    if (bytes !== 0 && bytes % UNITS[unit] === 0) {
      return `${bytes / UNITS[unit]}${unit}`;
    }
  }
  return `${bytes}B`;
}
