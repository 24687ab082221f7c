// Makes a text that identifies a principal. It is a hash over parts with their lengths, so no choice of
// subject or client can give two principals the same key.
import { hash } from 'node:crypto';
import type { PrincipalKind } from '../ports/principal.ts';

/**
 * The key of a principal.
 * @param kind how it was authenticated
 * @param parts in a fixed order for each kind; empty texts for absent ones
 */
export function principalKey(kind: PrincipalKind, parts: readonly string[]): string {
  const text = [kind, ...parts].map((part) => `${part.length}:${part}`).join('');
  return `${kind}:${hash('sha256', text, 'base64url')}`;
}
