// JSON-RPC batches (2025-03-26 and plain JSON-RPC): split on the way in, answered together on the
// way out. Servers never see one.
import { GatewayError } from '../base/errors.ts';
import { type FindOwner, HeldAmount } from '../base/held-bytes.ts';
import { batchTexts } from '../jsonrpc/batch.ts';
import { INVALID_REQUEST } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { type ScanOptions, scan } from '../jsonrpc/scan.ts';
import { errorMessage } from '../jsonrpc/serialize.ts';
import { wireErrorOf } from '../mcp/errors.ts';
import { TOO_MUCH_HELD } from '../observe/request-meter.ts';
import type { AnswerSink } from '../ports/sink.ts';

/** Where the answers of a batch go. */
export interface BatchTarget {
  push(message: Buffer): boolean;
  endAll(messages: readonly Buffer[]): void;
  abandon(): void;
}

/**
 * The messages of a batch.
 * @returns undefined when they are too many
 */
export function splitBatch(batch: Frame, options: ScanOptions): Frame[] | undefined {
  // Copied: one that is not answered for long must not keep all others.
  return batchTexts(batch)?.map((bytes) => scan(Buffer.from(bytes), options));
}

/** The answer for an element that is no valid message. */
export function invalidElement(): Buffer {
  return errorMessage(undefined, { code: INVALID_REQUEST, message: 'Invalid request.' });
}

/** An answer that waits for the others, and the id of its request. */
interface Answer {
  message: Buffer;
  readonly id: Buffer | undefined;
}

/** Collects the answers of a batch and sends them when the last one is there. */
export class BatchAnswers {
  readonly #target: BatchTarget;
  readonly #answers: Answer[] = [];
  readonly #held: HeldAmount;
  #bytes = 0;
  #open: number;

  /**
   * @param expected how many sinks will be asked for and ended
   * @param owner for whom they are held
   */
  constructor(target: BatchTarget, expected: number, owner: FindOwner) {
    this.#target = target;
    this.#open = expected;
    this.#held = new HeldAmount(owner, 'unread', () => this.#cut());
  }

  /** The sink of one request of the batch. */
  sink(id?: Buffer): AnswerSink {
    let isDone = false;
    const close = (message: Buffer | undefined): void => {
      if (isDone) return;
      isDone = true;
      this.#close(message, id);
    };
    return {
      push: (message) => !isDone && this.#target.push(message),
      end: close,
      abandon: () => close(undefined),
    };
  }

  #close(message: Buffer | undefined, id: Buffer | undefined): void {
    // A copy: the answer may be a view on a chunk of the server's output, and may wait.
    if (message !== undefined) this.#answers.push({ message: Buffer.from(message), id });
    this.#bytes += message?.length ?? 0;
    this.#open--;
    if (this.#open > 0) {
      this.#held.set(this.#bytes);
      return;
    }
    this.#held.release();
    if (this.#answers.length === 0) this.#target.abandon();
    else this.#target.endAll(this.#answers.map((answer) => answer.message));
  }

  /** Too much is held: the answers so far have to go. */
  #cut(): void {
    const error = wireErrorOf(
      new GatewayError('overloaded', TOO_MUCH_HELD, { outcome: 'unknown' }),
    );
    for (const answer of this.#answers) answer.message = errorMessage(answer.id, error);
    this.#bytes = 0;
  }
}
