// How much memory this process uses, and how much it may use. Nothing here fails: if the system can't be
// asked, because no file descriptor is left, the last value is used.
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { readTextFile } from './bounded-file.ts';

const LIMITS_FILE = '/proc/self/limits';
const MAX_LIMITS_BYTES = 64 * 1024;
/** The kernel shows a huge number for a control group without a limit. */
const ABSURD_BYTES = 2 ** 50;

/** What is known about memory, in bytes. */
export interface MemoryUse {
  readonly heapBytes: number;
  readonly heapLimitBytes: number;
  readonly residentBytes: number;
  /** Infinite if there is no limit. */
  readonly containerLimitBytes: number;
}

/** How the system is asked. Each function may throw. */
export interface MemorySources {
  readonly residentBytes: () => number;
  /** 0 or huge: there is no limit. */
  readonly containerBytes: () => number;
}

const SYSTEM: MemorySources = {
  residentBytes: () => process.memoryUsage.rss(),
  containerBytes: () => process.constrainedMemory(),
};

/** Reads the memory use of this process. */
export class MemoryGauge {
  readonly #sources: MemorySources;
  #residentBytes = 0;
  #containerLimitBytes = Number.POSITIVE_INFINITY;

  constructor(sources: MemorySources = SYSTEM) {
    this.#sources = sources;
  }

  read(): MemoryUse {
    const { residentBytes, containerBytes } = this.#sources;
    this.#residentBytes = positive(residentBytes) ?? this.#residentBytes;
    const container = positive(containerBytes);
    if (container !== undefined) {
      const isSane = container < ABSURD_BYTES;
      this.#containerLimitBytes = isSane ? container : Number.POSITIVE_INFINITY;
    }
    const { used_heap_size: heapBytes, heap_size_limit: heapLimitBytes } = getHeapStatistics();
    return {
      heapBytes,
      heapLimitBytes,
      residentBytes: this.#residentBytes,
      containerLimitBytes: this.#containerLimitBytes,
    };
  }
}

/**
 * The memory that this process may use, in bytes: the smallest of the machine's memory, the limit of its
 * control group, the user's limit of resident memory, and twice the limit of its heap. Twice, because most
 * held bytes are outside the heap.
 */
export function availableMemory(): number {
  const { containerLimitBytes, heapLimitBytes } = new MemoryGauge().read();
  const machineBytes = positive(totalmem) ?? Number.POSITIVE_INFINITY;
  return Math.min(containerLimitBytes, machineBytes, residentLimit(), 2 * heapLimitBytes);
}

function residentLimit(): number {
  try {
    return residentLimitIn(readTextFile(LIMITS_FILE, MAX_LIMITS_BYTES));
  } catch {
    return Number.POSITIVE_INFINITY; // not Linux
  }
}

/** The soft limit of resident memory, in the text of `/proc/PID/limits` (proc_pid_limits(5)). */
export function residentLimitIn(limits: string): number {
  const bytes = /^Max resident set\s+(\d+)\s/m.exec(limits)?.[1];
  return bytes === undefined ? Number.POSITIVE_INFINITY : Number(bytes);
}

function positive(source: () => number): number | undefined {
  try {
    const bytes = source();
    return bytes > 0 ? bytes : undefined;
  } catch {
    return undefined;
  }
}
