// JSON-RPC batches: arrays of messages, of limited length.
import type { Frame } from './frame.ts';
import { splitArray } from './parse.ts';

/** The most messages in one batch (docs/reliability.md#limits). */
const MAX_BATCH = 100;

/**
 * The messages of a batch, as views of its bytes.
 * @param batch a frame that scan() marked as `array`
 * @returns undefined if there are too many messages
 */
export function batchTexts(batch: Frame): Buffer[] | undefined {
  const texts = splitArray(batch.bytes, MAX_BATCH + 1);
  return texts.length > MAX_BATCH ? undefined : texts;
}
