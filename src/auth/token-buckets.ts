// How often somebody may do something: one bucket for each, filled at a steady rate. The table is
// bounded; who was not seen for longest is forgotten first, and starts anew.

const MAX_BUCKETS = 10_000;

interface Bucket {
  tokens: number;
  atMs: number;
}

/** Buckets by name. */
export class TokenBuckets {
  readonly #perMs: number;
  readonly #size: number;
  readonly #buckets = new Map<string, Bucket>();

  /**
   * @param perSecond how fast a bucket fills
   * @param size what a full one holds
   */
  constructor(perSecond: number, size: number) {
    this.#perMs = perSecond / 1_000;
    this.#size = size;
  }

  /**
   * Takes one.
   * @param nowMs monotonic
   * @returns 0, or how many milliseconds it will take until there is one
   */
  take(name: string, nowMs: number): number {
    const bucket = this.#filled(name, nowMs);
    if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / this.#perMs);
    bucket.tokens--;
    return 0;
  }

  /** Takes for what came in together with one that was let in: more than there is, to be waited for later. */
  owe(name: string, count: number, nowMs: number): void {
    this.#filled(name, nowMs).tokens -= count;
  }

  /** How long until `take` will succeed; takes nothing. */
  waitMs(name: string, nowMs: number): number {
    const bucket = this.#buckets.get(name);
    if (bucket === undefined) return 0;
    const tokens = bucket.tokens + (nowMs - bucket.atMs) * this.#perMs;
    return tokens >= 1 ? 0 : Math.ceil((1 - tokens) / this.#perMs);
  }

  #filled(name: string, nowMs: number): Bucket {
    const known = this.#buckets.get(name);
    if (known === undefined) {
      for (const oldest of this.#buckets.keys()) {
        if (this.#buckets.size < MAX_BUCKETS) break;
        this.#buckets.delete(oldest);
      }
    } else {
      this.#buckets.delete(name);
    }
    const bucket = known ?? { tokens: this.#size, atMs: nowMs };
    bucket.tokens = Math.min(this.#size, bucket.tokens + (nowMs - bucket.atMs) * this.#perMs);
    bucket.atMs = nowMs;
    this.#buckets.set(name, bucket);
    return bucket;
  }
}
