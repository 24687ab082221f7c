// One access token, kept while it is valid. It is requested once for all waiting calls, and requested again
// before it expires.
import { backoffMs } from '../../base/backoff.ts';
import { monotonicMs } from '../../base/clock.ts';
import type { Logger } from '../../observe/logger.ts';
import { HttpFailure, notCalled } from './http-failure.ts';
import type { IssuedToken } from './token-request.ts';

/** Calls take a moment to arrive, and clocks differ. */
const SLACK_MS = 5_000;
/** A new token is requested this long before the old one expires. */
const EARLY_MS = 60_000;
/** If a server refuses a token that is so new, it would refuse another one too. */
const MIN_AGE_MS = 10_000;
const RETRY = { firstMs: 500, capMs: 30_000 };

interface CachedToken {
  readonly value: string;
  readonly gotMs: number;
  /** When a new one is requested in the background, in monotonic milliseconds. */
  readonly staleMs: number;
  /** When it is no longer sent. */
  readonly overMs: number;
}

/** An access token. */
export class AccessToken {
  readonly #request: () => Promise<IssuedToken>;
  readonly #logger: Logger;
  #held: CachedToken | undefined;
  #pending: Promise<string> | undefined;
  #failures = 0;
  #failure: HttpFailure | undefined;
  #quietUntilMs = 0;

  constructor(request: () => Promise<IssuedToken>, logger: Logger) {
    this.#request = request;
    this.#logger = logger;
  }

  /**
   * The token; a promise only if it must be requested.
   * @throws HttpFailure if that fails
   */
  current(): string | Promise<string> {
    const held = this.#held;
    const nowMs = monotonicMs();
    if (held === undefined || nowMs >= held.overMs) return this.#renew();
    if (nowMs >= held.staleMs) void this.#renew().catch(() => undefined);
    return held.value;
  }

  /**
   * Notes that a server refused a token.
   * @returns whether another one may be available
   */
  refused(value: string): boolean {
    const held = this.#held;
    if (held?.value !== value) return true; // it is already replaced
    if (monotonicMs() - held.gotMs < MIN_AGE_MS) return false;
    this.#held = undefined;
    return true;
  }

  #renew(): Promise<string> {
    if (this.#pending !== undefined) return this.#pending;
    if (this.#failure !== undefined && monotonicMs() < this.#quietUntilMs) {
      return Promise.reject(this.#failure);
    }
    this.#pending = this.#obtain().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  async #obtain(): Promise<string> {
    const askedMs = monotonicMs();
    try {
      const { value, lifetimeMs } = await this.#request();
      const overMs = askedMs + lifetimeMs - Math.min(SLACK_MS, lifetimeMs / 2);
      const staleMs = askedMs + lifetimeMs - Math.min(EARLY_MS, lifetimeMs / 2);
      this.#held = { value, gotMs: monotonicMs(), staleMs, overMs };
      this.#failures = 0;
      this.#failure = undefined;
      return value;
    } catch (error) {
      this.#failures++;
      this.#failure = error instanceof HttpFailure ? error : notCalled('was not called.', error);
      this.#quietUntilMs = monotonicMs() + backoffMs(this.#failures, RETRY);
      this.#logger.warn({ err: this.#failure }, 'could not get an access token for the server');
      throw this.#failure;
    }
  }
}
