import type { AccessPolicy, Principal } from '../ports/principal.ts';

/** The principal of all clients while `auth` is `none`. */
export const ANONYMOUS: Principal = Object.freeze({ key: 'anonymous', kind: 'anonymous' });

/** What clients may do while `auth` is `none`: everything. */
export const OPEN_POLICY: AccessPolicy = Object.freeze({
  hidesDenied: true,
  opens: () => true,
  allows: () => true,
  missingScopes: () => [],
});
