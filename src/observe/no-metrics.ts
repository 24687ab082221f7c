// Metrics for commands that are never scraped, so that prom-client need not be loaded.
import type { Metrics } from './metrics.ts';

const INSTRUMENT = {
  inc: () => undefined,
  set: () => undefined,
  observe: () => undefined,
  labels: () => INSTRUMENT,
};

/** Counts nothing. */
export const NO_METRICS = new Proxy({}, { get: () => INSTRUMENT }) as Metrics;
