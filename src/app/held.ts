// Makes the budget of held bytes, from the configuration and the available memory.
import { HeldBytes, heldLimits } from '../base/held-bytes.ts';
import { availableMemory } from '../base/memory.ts';
import type { Config } from '../config/config.ts';
import type { Metrics } from '../observe/metrics.ts';

/** Makes the budget, and counts what is dropped. */
export function createHeldBytes({ listen, limits }: Config, metrics: Metrics): HeldBytes {
  const fitting = heldLimits(availableMemory(), listen.maxBody, limits.heldBytes);
  return new HeldBytes(fitting, (kind) => metrics.heldCut.inc({ kind }));
}
