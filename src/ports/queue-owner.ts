// Who takes turns with whom where calls wait in a queue (base/fair-queue).
import type { Downstream } from './downstream.ts';
import { isAnonymous, quotaKeyOf } from './principal.ts';

/** The quota key of a principal. Without authentication, when all have one principal, the client itself. */
export type QueueOwner = string | Downstream;

export function queueOwnerOf(client: Downstream): QueueOwner {
  return isAnonymous(client.principal) ? client : quotaKeyOf(client.principal);
}
