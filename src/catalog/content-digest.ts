// A short text that stands for content: equal ones are taken for the same thing.
import { createHash } from 'node:crypto';

/** @param parts of the content; a part can't run into the next one */
export function contentDigest(parts: Iterable<string | Uint8Array>): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part.length} `).update(part);
  return hash.digest('base64url');
}
