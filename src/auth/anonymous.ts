import type { AccessPolicy, Principal } from '../ports/principal.ts';

/** Everybody, while `auth` is `none`: all clients are one principal. */
export const ANONYMOUS: Principal = Object.freeze({ key: 'anonymous', kind: 'anonymous' });

/** What everybody may do, while `auth` is `none`. */
export const OPEN_POLICY: AccessPolicy = Object.freeze({
  hidesDenied: true,
  opens: () => true,
  allows: () => true,
  missingScopes: () => [],
});
