// The slot that an instance holds for its process, and why it has none when it has none.
import { GatewayError } from '../base/errors.ts';
import type { ProcessSlot } from './process-budget.ts';

/** The slot of one instance's process. */
export class ProcessSlotHolder {
  readonly #take: (() => ProcessSlot) | undefined;
  #slot: ProcessSlot | undefined;
  #refusal: GatewayError | undefined;

  /** @param take undefined where there is always a slot */
  constructor(take: (() => ProcessSlot) | undefined) {
    this.#take = take;
  }

  /** Why there was none when it was last asked for. */
  get refusal(): GatewayError | undefined {
    return this.#refusal;
  }

  /** Resolves when the process that had the slot before is gone. */
  get free(): Promise<unknown> | undefined {
    return this.#slot?.free;
  }

  /**
   * Takes it, unless it is held.
   * @throws GatewayError when there is none
   */
  take(): void {
    try {
      this.#slot ??= this.#take?.();
      this.#refusal = undefined;
    } catch (error) {
      if (error instanceof GatewayError) this.#refusal = error;
      throw error;
    }
  }

  /** @param gone resolves when the process is gone */
  giveBack(gone: Promise<unknown>): void {
    this.#slot?.giveBack(gone);
    this.#slot = undefined;
  }
}
