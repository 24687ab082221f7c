// The one budget of held bytes of a gateway, from what is configured and the memory that there is.
import { HeldBytes, heldLimits } from '../base/held-bytes.ts';
import { availableMemory } from '../base/memory.ts';
import type { Config } from '../config/config.ts';
import type { Metrics } from '../observe/metrics.ts';

/** Makes the budget, and counts what it cuts. */
export function createHeldBytes({ listen, limits }: Config, metrics: Metrics): HeldBytes {
  const fitting = heldLimits(availableMemory(), listen.maxBody, limits.heldBytes);
  return new HeldBytes(fitting, (kind) => metrics.heldCut.inc({ kind }));
}
