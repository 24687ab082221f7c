// A digest of content. Equal digests are taken for equal content.
import { createHash } from 'node:crypto';
import { eachItem, type StepsTo } from '../base/steps.ts';

/** @param parts of the content; their lengths are included, so that parts can't run into each other */
export function* contentDigest(parts: Iterable<string | Uint8Array>): StepsTo<string> {
  const hash = createHash('sha256');
  const add = (part: string | Uint8Array): void => {
    hash.update(`${part.length} `).update(part);
  };
  yield* eachItem(parts, add, ({ length }) => length);
  return hash.digest('base64url');
}
