// Fair turns: how much of what one source sends is worked off in one turn of the event loop. Whoever
// has had its turn is read on in a later one, behind those that wait already, so that no connection,
// client or server keeps the others waiting, however fast it sends.
import { afterInput } from './clock.ts';
import { Fifo } from './fifo.ts';

/**
 * The turn that runs now. Its end is noted only where somebody has to wait for it, so that a quiet
 * gateway does nothing for it: a turn may then seem longer than it was, and a source waits once for nothing.
 */
let turn = 0;
let isEndScheduled = false;
let waiting: (() => void)[] = [];
/** Quotas without a parent that somebody waits for. */
let contested: TurnQuota[] = [];

/** Costs are bytes; each message, frame or line costs at least this much, however short it is. */
export const LEAST_COST = 512;

/** Somebody who waits, and what is paid for it when it goes on. */
interface Waiter {
  readonly resume: () => void;
  readonly cost: number;
}

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
  if (due.length > 0) {
    waiting = [];
    for (const resume of due) goOn(resume);
  }
  const quotas = contested;
  if (quotas.length === 0) return;
  contested = [];
  for (const quota of quotas) quota.share();
}

/** What breaks is told as uncaught, and keeps nobody else waiting. */
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
 * What one source may cost in a turn. Sources may have a parent, whose quota they share: those that wait
 * for it go on one after the other, each source one step at a time, for as long as it lasts.
 */
export class TurnQuota {
  readonly #limit: number;
  readonly #parent: TurnQuota | undefined;
  readonly #isHeldUp: () => boolean;
  #turn = -1;
  #spent = 0;
  /** What waits here, and the sources for which something waits. */
  readonly #line = new Fifo<Waiter | TurnQuota>();
  /** Whether it stands in line itself. */
  #isInLine = false;

  /**
   * @param limit in bytes
   * @param parent of all such sources together, or of their owner
   * @param isHeldUp whether work that this source has caused is still going on, so that it has to wait
   */
  constructor(limit: number, parent?: TurnQuota, isHeldUp: () => boolean = () => false) {
    this.#limit = limit;
    this.#parent = parent;
    this.#isHeldUp = isHeldUp;
  }

  /** Whether it has had its turn. */
  get isSpent(): boolean {
    if (this.#isUsedUp) {
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

  /**
   * Runs `resume` in a later turn, in which there is something left for this source: behind those of the
   * same source that wait already, and in turn with those of others.
   * @param cost what `resume` will do, in bytes. It is spent before others go on, also where `resume` only
   *   resolves a promise and the work follows later in the turn. Going on costs a little by itself.
   */
  wait(resume: () => void, cost = 0): void {
    this.#line.push({ resume, cost });
    this.#standInLine();
  }

  /** Lets those go on that wait, until nothing is left of this turn. */
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

  /** @returns false when nobody waits that may go on in this turn */
  #letOneGoOn(): boolean {
    if (this.#isUsedUp) return false;
    for (let left = this.#line.size; left > 0; left--) {
      const next = this.#line.take();
      if (next === undefined) break;
      if (!(next instanceof TurnQuota)) {
        // At least a little: those that find nothing to do, and wait again, would go on for ever.
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

/** Runs `resume` at the beginning of the next turn, first come first served. It looks again whether it may. */
export function onNextTurn(resume: () => void): void {
  scheduleEnd();
  waiting.push(resume);
}

/**
 * Spends the cost of one more step, as soon as there is something of the quota left. The step follows
 * without another look. Its cost is spent here, as many may be let go before the first of them works.
 * @param cost in bytes
 * @returns when the step may be done; undefined: now
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
