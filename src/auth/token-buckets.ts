// Rate limits with token buckets: one for each name, filled at a steady rate. The table is limited: the
// bucket that was unused for longest is dropped, and is full when it is needed again.

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
   * @param perSecond tokens that are added each second
   * @param size tokens in a full bucket
   */
  constructor(perSecond: number, size: number) {
    this.#perMs = perSecond / 1_000;
    this.#size = size;
  }

  /**
   * Takes a token.
   * @param nowMs monotonic
   * @returns 0, or the milliseconds until there is a token
   */
  take(name: string, nowMs: number): number {
    const bucket = this.#filled(name, nowMs);
    if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / this.#perMs);
    bucket.tokens--;
    return 0;
  }

  /**
   * Takes tokens for messages that came together with an accepted one. It may take more than there are; later
   * ones then wait longer.
   */
  owe(name: string, count: number, nowMs: number): void {
    this.#filled(name, nowMs).tokens -= count;
  }

  /** The milliseconds until `take` succeeds. Takes nothing. */
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
