// Limits how much work of one source is done in one turn of the event loop. A source that has used up its
// quota continues in a later turn, after those that already wait. So no connection, client or server delays
// the others, however fast it sends.
import { afterInput } from './clock.ts';
import { Fifo } from './fifo.ts';

/**
 * The number of the current turn. Its end is scheduled only if something waits for it, so that an idle
 * gateway does no work. A turn may then seem longer than it was, and a source waits once without need.
 */
let turn = 0;
let isEndScheduled = false;
let waiting: (() => void)[] = [];
/** Quotas without a parent for which something waits. */
let contested: TurnQuota[] = [];

/** Costs are bytes. Each message, frame or line costs at least this much. */
export const LEAST_COST = 512;

/** Something that waits, and its cost when it continues. */
interface Waiter {
  readonly resume: () => void;
  readonly cost: number;
}

/** Runs when all input that was there at the beginning of the turn was read. */
function scheduleEnd(): void {
  if (isEndScheduled) return;
  isEndScheduled = true;
  afterInput(endTurn);
}

function endTurn(): void {
  turn++;
  isEndScheduled = false;
  const due = waiting;
  if (due.length > 0) {
    waiting = [];
    for (const resume of due) goOn(resume);
  }
  const quotas = contested;
  if (quotas.length === 0) return;
  contested = [];
  for (const quota of quotas) quota.share();
}

/** An exception is reported as uncaught, and does not stop the other waiters. */
function goOn(resume: () => void): void {
  try {
    resume();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

/**
 * What one source may cost in a turn. Sources may have a parent, whose quota they share: the waiting sources
 * then continue one after another, one step each, as long as the quota lasts.
 */
export class TurnQuota {
  readonly #limit: number;
  readonly #parent: TurnQuota | undefined;
  readonly #isHeldUp: () => boolean;
  #turn = -1;
  #spent = 0;
  /** Waiters of this source, and child sources that have waiters. */
  readonly #line = new Fifo<Waiter | TurnQuota>();
  /** Whether it is in the line of its parent. */
  #isInLine = false;

  /**
   * @param limit in bytes
   * @param parent shared by all such sources, or by the sources of one owner
   * @param isHeldUp whether earlier work of this source is still going on, so that it must wait
   */
  constructor(limit: number, parent?: TurnQuota, isHeldUp: () => boolean = () => false) {
    this.#limit = limit;
    this.#parent = parent;
    this.#isHeldUp = isHeldUp;
  }

  /** Whether it has used up its quota of this turn. */
  get isSpent(): boolean {
    if (this.#isUsedUp) {
      scheduleEnd();
      return true;
    }
    return this.#parent?.isSpent ?? false;
  }

  /**
   * Counts work. A message may cost more than the whole quota: it is processed completely, as the last one of
   * its turn.
   * @param bytes size of the message
   */
  spend(bytes: number): void {
    if (this.#turn !== turn) {
      this.#turn = turn;
      this.#spent = 0;
    }
    this.#spent += Math.max(bytes, LEAST_COST);
    this.#parent?.spend(bytes);
  }

  /**
   * Runs `resume` in a later turn, when this source has quota left: after earlier waiters of the same source,
   * and in turn with other sources.
   * @param cost what `resume` will do, in bytes. It is spent before the next waiter continues, even if
   *   `resume` only resolves a promise and the work follows later in the turn. Continuing itself costs a
   *   little too.
   */
  wait(resume: () => void, cost = 0): void {
    this.#line.push({ resume, cost });
    this.#standInLine();
  }

  /** Lets waiters continue until the quota of this turn is used up. */
  share(): void {
    this.#isInLine = false;
    while (this.#letOneGoOn());
    if (this.#line.size > 0) this.#standInLine();
  }

  get #isUsedUp(): boolean {
    return (this.#turn === turn && this.#spent >= this.#limit) || this.#isHeldUp();
  }

  #standInLine(): void {
    if (this.#isInLine) return;
    this.#isInLine = true;
    if (this.#parent !== undefined) {
      this.#parent.#line.push(this);
      this.#parent.#standInLine();
      return;
    }
    contested.push(this);
    scheduleEnd();
  }

  /** @returns false if no waiter may continue in this turn */
  #letOneGoOn(): boolean {
    if (this.#isUsedUp) return false;
    for (let left = this.#line.size; left > 0; left--) {
      const next = this.#line.take();
      if (next === undefined) break;
      if (!(next instanceof TurnQuota)) {
        // At least a little: otherwise waiters that find nothing to do, and wait again, would go on for ever.
        this.spend(next.cost);
        goOn(next.resume);
        return true;
      }
      const wentOn = next.#letOneGoOn();
      if (next.#line.size > 0) this.#line.push(next);
      else next.#isInLine = false;
      if (wentOn) return true;
    }
    return false;
  }
}

/**
 * Runs `resume` at the beginning of the next turn, in the order of the calls. The caller must check its quota
 * again.
 */
export function onNextTurn(resume: () => void): void {
  scheduleEnd();
  waiting.push(resume);
}

/**
 * Spends the cost of one more step, as soon as the quota allows it. The step then follows without another
 * check. The cost is spent here, because several waiters may continue before the first of them works.
 * @param cost in bytes
 * @returns resolves when the step may be done; undefined: now
 */
export function turnFor(quota: TurnQuota, cost: number): Promise<void> | undefined {
  if (!quota.isSpent) {
    quota.spend(cost);
    return undefined;
  }
  return new Promise((resolve) => {
    quota.wait(resolve, cost);
  });
}

/** Resolves at the beginning of the next turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    onNextTurn(resolve);
  });
}
