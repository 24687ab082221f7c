// Returns memory to the system after a burst. V8 keeps the pages that it has used, and does not collect
// garbage while nothing happens. So an idle gateway would keep for hours what it needed for seconds.
import { after, every, monotonicMs, type Timer } from '../base/clock.ts';
import { MemoryGauge } from '../base/memory.ts';

/** How often to check whether the gateway is idle; an idle period is at least that long. */
const PERIOD_MS = 10_000;
/** The same after the start, so that the garbage of the start is collected soon. */
const SETTLE_MS = 1_000;
/** With less processor time in a period, as a share of it, the gateway is idle. */
const IDLE_UTILIZATION = 0.02;
/** The same in the first seconds, when the first calls may be answered. */
const SETTLED_UTILIZATION = 0.02;
/** A collection is worth it if the resident memory has grown by this factor since the last one. */
const GROWTH = 1.15;
/** If a collection freed this share of the resident memory, a second one follows. */
const WORTH = 0.05;
/** Periods between two collections. */
const MIN_PERIODS = 3;
/** With more memory in use, returning all pages would block the event loop for too long. */
const MAX_COMPACTED_BYTES = 40 * 1024 * 1024;
/** The pause between the two halves of a collection, in which events are handled. */
const PAUSE_MS = 100;

/** What is measured and done. */
export interface IdleMemorySources {
  /** Processor time since the last call, as a share of the elapsed time. */
  readonly utilization: () => number;
  readonly residentBytes: () => number;
  readonly heapBytes: () => number;
  /** Collects garbage. */
  readonly collect: () => void;
  /** Collects garbage, and returns all free pages to the system. Takes several times as long. */
  readonly compact: () => void;
}

/** Collects garbage when the process is idle and larger than necessary. */
export class IdleMemory {
  readonly #sources: IdleMemorySources;
  readonly #timer: Timer;
  #settling: Timer | undefined;
  #compacting: Timer | undefined;
  #floorBytes: number;
  #periods = MIN_PERIODS;
  /** What a burst still used at the first collection is garbage now. The size does not show this. */
  #isSecondDue = false;

  constructor(sources: IdleMemorySources) {
    this.#sources = sources;
    this.#floorBytes = sources.residentBytes();
    this.#timer = every(PERIOD_MS, () => this.#look());
  }

  close(): void {
    this.#timer.cancel();
    this.#settling?.cancel();
    this.#compacting?.cancel();
  }

  /** Collects once, for any size, as soon as the process is idle: most of what the start made is garbage. */
  settle(): void {
    this.#settling = every(SETTLE_MS, () => {
      if (this.#sources.utilization() >= SETTLED_UTILIZATION) return;
      this.#settling?.cancel();
      this.#collect();
    });
  }

  #look(): void {
    const { utilization, residentBytes } = this.#sources;
    this.#periods += 1;
    const isIdle = utilization() < IDLE_UTILIZATION;
    if (!isIdle) return;
    const bytes = residentBytes();
    this.#floorBytes = Math.min(this.#floorBytes, bytes);
    const hasGrown = bytes > this.#floorBytes * GROWTH;
    if (this.#periods <= MIN_PERIODS || !(hasGrown || this.#isSecondDue)) return;
    this.#isSecondDue = false;
    this.#collect(hasGrown ? bytes : 0);
  }

  /** @param grownTo the resident memory, where that has grown */
  #collect(grownTo = 0): void {
    const { residentBytes, heapBytes, collect, compact } = this.#sources;
    this.#periods = 0;
    collect();
    this.#compacting = after(PAUSE_MS, () => {
      if (heapBytes() <= MAX_COMPACTED_BYTES) compact();
      this.#floorBytes = residentBytes();
      if (grownTo > 0) this.#isSecondDue = grownTo - this.#floorBytes > grownTo * WORTH;
    });
  }
}

/**
 * Watches the memory of this process, which is starting.
 * @returns undefined if Node was started without `--expose-gc`
 */
export function watchIdleMemory(): IdleMemory | undefined {
  const { gc } = globalThis;
  if (gc === undefined) return undefined;
  const gauge = new MemoryGauge();
  let sinceMs = monotonicMs();
  let since = process.cpuUsage();
  const memory = new IdleMemory({
    utilization: () => {
      const { user, system } = process.cpuUsage(since);
      const elapsedMs = monotonicMs() - sinceMs;
      sinceMs += elapsedMs;
      since = process.cpuUsage();
      return (user + system) / (1000 * elapsedMs);
    },
    residentBytes: () => gauge.read().residentBytes,
    heapBytes: () => gauge.read().heapBytes,
    collect: () => gc({ type: 'major' }),
    compact: () => gc({ type: 'major', flavor: 'last-resort' }),
  });
  memory.settle();
  return memory;
}
