// Who takes turns with whom where calls wait.
import type { Downstream } from './downstream.ts';
import { isAnonymous } from './principal.ts';

/** The key of a principal; where everybody is the same principal, each client by itself. */
export type Caller = string | Downstream;

export function callerOf(client: Downstream): Caller {
  return isAnonymous(client.principal) ? client : client.principal.key;
}
