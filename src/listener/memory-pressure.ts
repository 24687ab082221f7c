// Refuses new requests while the heap or the container's memory is nearly full, so that running requests can
// finish (docs/reliability.md#c06, #f25).
import { every, type Timer } from '../base/clock.ts';
import { MemoryGauge, type MemoryUse } from '../base/memory.ts';

const PERIOD_MS = 500;
const FULL = 0.9;

/** Checks memory regularly. */
export class MemoryPressure {
  readonly #timer: Timer;
  #isHigh = false;

  constructor(gauge: Pick<MemoryGauge, 'read'> = new MemoryGauge()) {
    this.#timer = every(PERIOD_MS, () => {
      this.#isHigh = isNearlyFull(gauge.read());
    });
  }

  /** Whether new requests must be refused. */
  get isHigh(): boolean {
    return this.#isHigh;
  }

  close(): void {
    this.#timer.cancel();
  }
}

/** Whether one more request could exceed the memory. */
export function isNearlyFull(use: MemoryUse): boolean {
  const { heapBytes, heapLimitBytes, residentBytes, containerLimitBytes } = use;
  return heapBytes > heapLimitBytes * FULL || residentBytes > containerLimitBytes * FULL;
}
