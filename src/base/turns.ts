// Fair turns: how much of what one source sends is worked off in one turn of the event loop. Whoever
// has had its turn is read on in the next one, behind those that wait already, so that no connection,
// client or server keeps the others waiting, however fast it sends.
import { afterInput } from './clock.ts';

/**
 * The turn that runs now. Its end is noted only where somebody has to wait for it, so that a quiet
 * gateway does nothing for it: a turn may then seem longer than it was, and a source waits once for nothing.
 */
let turn = 0;
let isEndScheduled = false;
let waiting: (() => void)[] = [];

/** Costs are bytes; each message, frame or line costs at least this much, however short it is. */
export const LEAST_COST = 512;

/** When all input that was there at its beginning has been read. */
function scheduleEnd(): void {
  if (isEndScheduled) return;
  isEndScheduled = true;
  afterInput(endTurn);
}

function endTurn(): void {
  turn++;
  isEndScheduled = false;
  const due = waiting;
  if (due.length === 0) return;
  waiting = [];
  for (const resume of due) resume();
}

/** What one source may cost in a turn. */
export class TurnQuota {
  readonly #limit: number;
  readonly #parent: TurnQuota | undefined;
  #turn = -1;
  #spent = 0;

  /**
   * @param limit in bytes
   * @param parent of all such sources together, or of their owner
   */
  constructor(limit: number, parent?: TurnQuota) {
    this.#limit = limit;
    this.#parent = parent;
  }

  /** Whether it has had its turn. */
  get isSpent(): boolean {
    if (this.#turn === turn && this.#spent >= this.#limit) {
      scheduleEnd();
      return true;
    }
    return this.#parent?.isSpent ?? false;
  }

  /**
   * Notes work. One message may cost more than all of a turn: it is worked off whole, and is the last
   * of its turn.
   * @param bytes of the message
   */
  spend(bytes: number): void {
    if (this.#turn !== turn) {
      this.#turn = turn;
      this.#spent = 0;
    }
    this.#spent += Math.max(bytes, LEAST_COST);
    this.#parent?.spend(bytes);
  }
}

/** Runs `resume` at the beginning of the next turn, first come first served. It looks again whether it may. */
export function onNextTurn(resume: () => void): void {
  scheduleEnd();
  waiting.push(resume);
}
