// A short text that stands for content: equal ones are taken for the same thing.
import { createHash } from 'node:crypto';
import { eachItem, type StepsTo } from '../base/steps.ts';

/** @param parts of the content; a part can't run into the next one */
export function* contentDigest(parts: Iterable<string | Uint8Array>): StepsTo<string> {
  const hash = createHash('sha256');
  const add = (part: string | Uint8Array): void => {
    hash.update(`${part.length} `).update(part);
  };
  yield* eachItem(parts, add, ({ length }) => length);
  return hash.digest('base64url');
}
