/**
 * How often a property is tried: in `npm test` a part of the full number, so that it is over soon; all of it
 * with `npm run test:properties`, and PROPERTY_RUNS=10 looks ten times as long.
 */
const FACTOR = Number(process.env['PROPERTY_RUNS'] ?? 0.2);

/** @param full how often it takes to be fairly sure */
export function runs(full: number): number {
  return Math.ceil(full * FACTOR);
}
