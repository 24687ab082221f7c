// One access token that is kept as long as it holds: asked for once however many calls wait for it,
// and asked for again before it runs out.
import { backoffMs } from '../../base/backoff.ts';
import { monotonicMs } from '../../base/clock.ts';
import type { Logger } from '../../observe/logger.ts';
import { HttpFailure, notCalled } from './http-failure.ts';
import type { IssuedToken } from './token-request.ts';

/** Calls take a moment to arrive, and clocks differ. */
const SLACK_MS = 5_000;
/** From when on a new one is asked for while the old one still holds. */
const EARLY_MS = 60_000;
/** A server that refuses a token so soon would refuse another one too. */
const MIN_AGE_MS = 10_000;
const RETRY = { firstMs: 500, capMs: 30_000 };

interface CachedToken {
  readonly value: string;
  readonly gotMs: number;
  /** When a new one is asked for in the background. */
  readonly staleMs: number;
  /** When it is not sent any more. */
  readonly overMs: number;
}

/** A token. */
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
   * The token, at once where it is there.
   * @throws HttpFailure when it can't be had
   */
  current(): string | Promise<string> {
    const held = this.#held;
    const nowMs = monotonicMs();
    if (held === undefined || nowMs >= held.overMs) return this.#renew();
    if (nowMs >= held.staleMs) void this.#renew().catch(() => undefined);
    return held.value;
  }

  /**
   * A server refused it.
   * @returns whether another one may be had
   */
  refused(value: string): boolean {
    const held = this.#held;
    if (held?.value !== value) return true; // it is replaced already
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
      this.#logger.warn({ err: this.#failure }, 'no access token could be had for the server');
      throw this.#failure;
    }
  }
}
