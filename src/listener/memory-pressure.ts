// Whether there is memory for more: while the heap or the container is nearly full, new requests are
// turned away so that those that run can end (docs/reliability.md#c06, #f25).
import { every, type Timer } from '../base/clock.ts';
import { MemoryGauge, type MemoryUse } from '../base/memory.ts';

const PERIOD_MS = 500;
const FULL = 0.9;

/** Watches memory. */
export class MemoryPressure {
  readonly #timer: Timer;
  #isHigh = false;

  constructor(gauge: Pick<MemoryGauge, 'read'> = new MemoryGauge()) {
    this.#timer = every(PERIOD_MS, () => {
      this.#isHigh = isNearlyFull(gauge.read());
    });
  }

  /** Whether new requests have to be turned away. */
  get isHigh(): boolean {
    return this.#isHigh;
  }

  close(): void {
    this.#timer.cancel();
  }
}

/** Whether so much is in use that one more request could be the last. */
export function isNearlyFull(use: MemoryUse): boolean {
  const { heapBytes, heapLimitBytes, residentBytes, containerLimitBytes } = use;
  return heapBytes > heapLimitBytes * FULL || residentBytes > containerLimitBytes * FULL;
}
