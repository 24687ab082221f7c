// One text for who somebody is. Hashed, with its parts told apart by their length, so that no choice of
// subject or client can make one person's key another's.
import { hash } from 'node:crypto';
import type { PrincipalKind } from '../ports/principal.ts';

/**
 * The key of a principal.
 *
 * @param kind how it was identified
 * @param parts in a fixed order for the kind; an absent one is an empty text
 */
export function principalKey(kind: PrincipalKind, parts: readonly string[]): string {
  const text = [kind, ...parts].map((part) => `${part.length}:${part}`).join('');
  return `${kind}:${hash('sha256', text, 'base64url')}`;
}
