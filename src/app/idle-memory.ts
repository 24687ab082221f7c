// Gives memory back to the system after a burst. V8 keeps the pages that it has grown to, and collects
// nothing while nothing happens, so an idle gateway would keep for hours what it used for seconds.
import { after, every, monotonicMs, type Timer } from '../base/clock.ts';
import { MemoryGauge } from '../base/memory.ts';

/** How often it is looked whether there is something to do: an idle period is so long at least. */
const PERIOD_MS = 10_000;
/** The same after the start, so that what it left goes soon. */
const SETTLE_MS = 1_000;
/** Processor time in a period that leaves a gateway idle, as a share of it. */
const IDLE_UTILIZATION = 0.02;
/** The same in the first seconds, in which somebody's first calls may be answered. */
const SETTLED_UTILIZATION = 0.02;
/** More than the resident memory after the last time, by so much, is worth a collection. */
const GROWTH = 1.15;
/** When a collection of what has grown gave back so much of the resident memory, a second one follows. */
const WORTH = 0.05;
/** Periods between two collections. */
const MIN_PERIODS = 3;
/** With more in use than this, handing back all pages would hold up the event loop for too long. */
const MAX_COMPACTED_BYTES = 40 * 1024 * 1024;
/** Between the two halves of a collection: whatever came meanwhile goes first. */
const PAUSE_MS = 100;

/** What it looks at and does. */
export interface IdleMemorySources {
  /** Processor time since the last call, as a share of the time that went by. */
  readonly utilization: () => number;
  readonly residentBytes: () => number;
  readonly heapBytes: () => number;
  /** Collects what is garbage. */
  readonly collect: () => void;
  /** The same, and gives back all pages that are free then. Takes several times as long. */
  readonly compact: () => void;
}

/** Collects garbage when the process is idle and larger than it has to be. */
export class IdleMemory {
  readonly #sources: IdleMemorySources;
  readonly #timer: Timer;
  #settling: Timer | undefined;
  #compacting: Timer | undefined;
  #floorBytes: number;
  #periods = MIN_PERIODS;
  /** What a burst still held at the first collection is garbage now, which does not show in the size. */
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

  /** Collects once, whatever the size, as soon as the process does nothing: most of what a start made is garbage. */
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
 * Looks after the memory of this process, which starts now.
 * @returns undefined where Node was started without `--expose-gc`
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
