// JSON-RPC batches: an array of messages. Whoever sends one, only so much of it is read.
import type { Frame } from './frame.ts';
import { splitArray } from './parse.ts';

/** Messages in one batch (docs/reliability.md#limits). */
const MAX_BATCH = 100;

/**
 * The messages of a batch, as views on its bytes.
 * @param batch what scan() called an `array`
 * @returns undefined when they are too many
 */
export function batchTexts(batch: Frame): Buffer[] | undefined {
  const texts = splitArray(batch.bytes, MAX_BATCH + 1);
  return texts.length > MAX_BATCH ? undefined : texts;
}
