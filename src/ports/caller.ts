// Who takes turns with whom where calls wait.
import type { Downstream } from './downstream.ts';
import { isAnonymous, quotaKeyOf } from './principal.ts';

/** The quota key of a principal; where everybody is the same principal, each client by itself. */
export type Caller = string | Downstream;

export function callerOf(client: Downstream): Caller {
  return isAnonymous(client.principal) ? client : quotaKeyOf(client.principal);
}
