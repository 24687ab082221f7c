// The place that an instance holds for its process, and why it has none when it has none.
import { GatewayError } from '../base/errors.ts';
import type { ProcessPlace } from './process-budget.ts';

/** The place of one instance's process. */
export class HeldPlace {
  readonly #take: (() => ProcessPlace) | undefined;
  #place: ProcessPlace | undefined;
  #refusal: GatewayError | undefined;

  /** @param take undefined where there is always a place */
  constructor(take: (() => ProcessPlace) | undefined) {
    this.#take = take;
  }

  /** Why there was none when it was last asked for. */
  get refusal(): GatewayError | undefined {
    return this.#refusal;
  }

  /** Resolves when the process that had the place before is gone. */
  get free(): Promise<unknown> | undefined {
    return this.#place?.free;
  }

  /**
   * Takes it, unless it is held.
   * @throws GatewayError when there is none
   */
  take(): void {
    try {
      this.#place ??= this.#take?.();
      this.#refusal = undefined;
    } catch (error) {
      if (error instanceof GatewayError) this.#refusal = error;
      throw error;
    }
  }

  /** @param gone resolves when the process is gone */
  giveBack(gone: Promise<unknown>): void {
    this.#place?.giveBack(gone);
    this.#place = undefined;
  }
}
