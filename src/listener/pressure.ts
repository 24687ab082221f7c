// Whether there is memory for more: while the heap or the container is nearly full, or the bodies that
// are on their way in are too many, new requests are turned away so that those that run can end
// (reliability.md C06, F25).
import type { IncomingMessage, ServerResponse } from 'node:http';
import { getHeapStatistics } from 'node:v8';
import { every, type Timer } from '../base/clock.ts';

const PERIOD_MS = 500;
const FULL = 0.9;
/** Smaller bodies are not counted: the limits of connections hold them. */
const SMALL_BYTES = 64 * 1024;

/** What is known of memory. */
export interface MemoryUse {
  readonly heapBytes: number;
  readonly heapLimitBytes: number;
  readonly residentBytes: number;
  /** 0 or absurdly large: there is none. */
  readonly containerLimitBytes: number;
}

/** Watches memory. */
export class Pressure {
  readonly #maxBodyBytes: number;
  readonly #maxBodiesBytes: number;
  readonly #timer: Timer;
  #isHigh = false;
  #bodiesBytes = 0;

  /**
   * @param maxBodyBytes of one body
   * @param maxBodiesBytes of all bodies that are on their way in
   */
  constructor(maxBodyBytes: number, maxBodiesBytes: number, use: () => MemoryUse = memoryUse) {
    this.#maxBodyBytes = maxBodyBytes;
    this.#maxBodiesBytes = maxBodiesBytes;
    this.#timer = every(PERIOD_MS, () => {
      this.#isHigh = isNearlyFull(use());
    });
  }

  close(): void {
    this.#timer.cancel();
  }

  /** Takes room for a request and its body until it is answered. @returns false when there is none */
  hasRoom(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.#isHigh && request.method !== 'DELETE') return false;
    if (request.method !== 'POST') return true;
    const declared = Number(request.headers['content-length'] ?? this.#maxBodyBytes);
    const bytes = Math.min(declared, this.#maxBodyBytes);
    if (bytes <= SMALL_BYTES) return true;
    if (this.#bodiesBytes + bytes > this.#maxBodiesBytes) return false;
    this.#bodiesBytes += bytes;
    response.once('close', () => {
      this.#bodiesBytes -= bytes;
    });
    return true;
  }
}

/** Whether so much is in use that one more request could be the last. */
export function isNearlyFull(use: MemoryUse): boolean {
  const { heapBytes, heapLimitBytes, residentBytes, containerLimitBytes } = use;
  const hasContainer = containerLimitBytes > 0 && containerLimitBytes < 2 ** 50;
  return (
    heapBytes > heapLimitBytes * FULL ||
    (hasContainer && residentBytes > containerLimitBytes * FULL)
  );
}

function memoryUse(): MemoryUse {
  const { used_heap_size: heapBytes, heap_size_limit: heapLimitBytes } = getHeapStatistics();
  return {
    heapBytes,
    heapLimitBytes,
    residentBytes: process.memoryUsage.rss(),
    containerLimitBytes: process.constrainedMemory(),
  };
}
