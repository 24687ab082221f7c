// Metrics for commands that nobody scrapes: they need not load what keeps and prints them.
import type { Metrics } from './metrics.ts';

const INSTRUMENT = {
  inc: () => undefined,
  set: () => undefined,
  observe: () => undefined,
  labels: () => INSTRUMENT,
};

/** Counts nothing. */
export const NO_METRICS = new Proxy({}, { get: () => INSTRUMENT }) as Metrics;
