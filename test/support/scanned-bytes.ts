// How much JSON text was walked over: a measure of work that is the same on a busy machine. A test file
// puts `counting` in place of the walker with vi.mock, and imports it there, since mocks come first.
import type * as JsonText from '../../src/jsonrpc/json-text.ts';

let scanned = 0;

/** The walker, with each value that it is asked to skip counted. */
export async function counting(original: () => Promise<unknown>): Promise<typeof JsonText> {
  const walker = (await original()) as typeof JsonText;
  return {
    ...walker,
    skipValue(text, from, end, depth) {
      const after = walker.skipValue(text, from, end, depth);
      if (after > from) scanned += after - from;
      return after;
    },
  };
}

/** The bytes of the values that were skipped while `work` ran. */
export function scannedBytes(work: () => void): number {
  const before = scanned;
  work();
  if (scanned === before) throw new Error('nothing was walked over: vi.mock does not hold here');
  return scanned - before;
}
