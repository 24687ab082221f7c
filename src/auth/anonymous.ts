import type { Principal } from '../ports/principal.ts';

/** Everybody, while `auth` is `none`: all clients are one principal. */
export const ANONYMOUS: Principal = Object.freeze({ key: 'anonymous' });
