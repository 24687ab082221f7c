// JSON-RPC batches (2025-03-26 and plain JSON-RPC): split when they arrive, answered together. Servers never
// get one.
import { asGatewayError, type GatewayError } from '../base/errors.ts';
import { type FindOwner, HeldAmount } from '../base/held-bytes.ts';
import { LEAST_COST, type TurnQuota } from '../base/turns.ts';
import { batchTexts } from '../jsonrpc/batch.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { type ScanOptions, scan } from '../jsonrpc/scan.ts';
import { errorMessage } from '../jsonrpc/serialize.ts';
import { copyText } from '../jsonrpc/text-walk.ts';
import { ERRORS, wireErrorOf } from '../mcp/errors.ts';
import { FAILURES } from '../mcp/failures.ts';
import type { ResponseWriter } from '../ports/response-writer.ts';

/** The cost of a message of a batch, in addition to its bytes. */
const MESSAGE_COST = 4 * LEAST_COST;

/** Where the answers of a batch are sent. */
export interface BatchTarget {
  push(...message: readonly Buffer[]): boolean;
  endAll(messages: readonly Buffer[]): void;
  abandon(): void;
}

/**
 * The messages of a batch.
 * @returns undefined if there are too many
 */
export function splitBatch(batch: Frame, options: ScanOptions): Frame[] | undefined {
  // Copied, so that one message that waits long does not keep the others in memory.
  return batchTexts(batch)?.map((text) => scan(copyText(text, batch.bytes), options));
}

/** How the messages of a batch are processed. */
export interface BatchWork {
  /** The client's quota; undefined if there is only one client. */
  readonly quota: TurnQuota | undefined;
  /** The owner of the bytes meanwhile. */
  readonly owner: FindOwner;
  take(frame: Frame): void;
  failed(error: GatewayError): void;
  /** Called after the last one, if they took more than one turn. */
  late?(): void;
}

/**
 * Processes the messages of a batch in order, in as many turns as they cost.
 * @returns whether it is done
 */
export function workOff(messages: readonly Frame[], work: BatchWork): boolean {
  const { quota } = work;
  let at = 0;
  const isDone = (): boolean => {
    do {
      const frame = messages[at++];
      if (frame === undefined) break;
      takeSafely(frame, work);
    } while (quota?.isSpent !== true);
    return at >= messages.length;
  };
  if (quota?.isSpent !== true && isDone()) return true;
  const owner = work.owner();
  const left = messages.slice(at).reduce((sum, { bytes }) => sum + bytes.length, 0);
  owner.add('call', left);
  const goOn = (): void => {
    if (!isDone()) {
      quota?.wait(goOn);
      return;
    }
    owner.remove('call', left);
    work.late?.();
  };
  quota?.wait(goOn);
  return false;
}

function takeSafely(frame: Frame, { quota, take, failed }: BatchWork): void {
  quota?.spend(MESSAGE_COST + frame.bytes.length);
  try {
    take(frame);
  } catch (error) {
    failed(asGatewayError(error));
  }
}

/** The answer to an element that is not a valid message. */
export function invalidElement(): Buffer {
  return errorMessage(undefined, ERRORS.batchElement);
}

/** An answer that waits for the others, with the id of its request. */
interface Answer {
  message: Buffer;
  readonly id: Buffer | undefined;
}

/** Collects the answers of a batch, and sends them when the last one is there. */
export class BatchAnswers {
  readonly #target: BatchTarget;
  readonly #answers: Answer[] = [];
  readonly #held: HeldAmount;
  #bytes = 0;
  #open: number;

  /**
   * @param expected how many writers will be made and ended
   * @param owner of the bytes of the answers
   */
  constructor(target: BatchTarget, expected: number, owner: FindOwner) {
    this.#target = target;
    this.#open = expected;
    this.#held = new HeldAmount(owner, 'unread', () => this.#cut());
  }

  /** The writer for one request of the batch. */
  writer(id?: Buffer): ResponseWriter {
    let isDone = false;
    const close = (message: Buffer | undefined): void => {
      if (isDone) return;
      isDone = true;
      this.#close(message, id);
    };
    return {
      push: (...message) => !isDone && this.#target.push(...message),
      end: close,
      abandon: () => close(undefined),
    };
  }

  #close(message: Buffer | undefined, id: Buffer | undefined): void {
    // Copied: the answer may be a view of a chunk of the server's output, and may wait.
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

  /** Too much is held, so the answers so far are dropped. */
  #cut(): void {
    const error = wireErrorOf(FAILURES.tooMuchHeld('unknown'));
    for (const answer of this.#answers) answer.message = errorMessage(answer.id, error);
    this.#bytes = 0;
  }
}
