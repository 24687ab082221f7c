// The queue in front of the validation processes. Callers take turns. Whoever had a slow check with a server is
// slow there for a while: slow checks use one of the two processes at most, so the other one is left for
// everybody else. The second process is started when the first slow check comes.
import { after, monotonicMs } from '../../base/clock.ts';
import { FairQueue, type Queued } from '../../base/fair-queue.ts';
import { RecentMap } from '../../base/recent-map.ts';
import type { QueueOwner } from '../../ports/queue-owner.ts';
import type { ValidationJob } from './jobs.ts';
import { type LinkOutcome, type PendingCheck, ValidationWorker } from './validation-worker.ts';

export type { LinkOutcome } from './validation-worker.ts';

const MAX_WAITING = 1_000;
const MAX_WAITING_OF_ONE = 100;
const MAX_WAIT_MS = 10_000;
/** A check that costs more is a slow one; one that takes longer is treated as such meanwhile. */
const SLOW_MS = 100;
const SLOW_FOR_MS = 60_000;
/** Callers of servers whose checks were slow. */
const MAX_SLOW = 10_000;

/** Whose call is checked, and of which server. */
export interface CheckFor {
  readonly caller: QueueOwner;
  readonly server: string;
}

interface QueuedCheck extends PendingCheck, Queued<QueueOwner> {
  readonly pair: string;
  readonly sinceMs: number;
  /** Whether it has run for longer than a quick check does. */
  isLate: boolean;
}

/** The way to the processes. */
export class ValidationLink {
  readonly #queue = new FairQueue<QueueOwner, QueuedCheck>(MAX_WAITING, ({ settle }) => {
    settle({ kind: 'busy' });
  });
  readonly #workers: readonly ValidationWorker<QueuedCheck>[];
  /** Until when checks are taken for slow ones, by caller and server. */
  readonly #slow = new RecentMap<string, number>(MAX_SLOW);
  #isClosed = false;

  /** @param limitMs how long one job may take, the compiling of its schema included */
  constructor(limitMs: number) {
    const events = { changed: () => this.#next(), startFailed: () => this.#refuseWaiting() };
    this.#workers = [1, 2].map(() => new ValidationWorker<QueuedCheck>(limitMs, events));
  }

  /** Runs a job; always resolves. */
  run(job: ValidationJob, { caller, server }: CheckFor): Promise<LinkOutcome> {
    if (this.#isClosed || this.#queue.sizeOf(caller) >= MAX_WAITING_OF_ONE) {
      return Promise.resolve({ kind: 'busy' });
    }
    const pair = `${server} ${typeof caller === 'string' ? caller : ''}`;
    return new Promise((settle) => {
      const sinceMs = monotonicMs();
      const waiting = { job, owner: caller, pair, sinceMs, isLate: false, settle };
      if (!this.#queue.add(waiting)) settle({ kind: 'busy' });
      this.#next();
    });
  }

  /** Ends the processes; resolves when nothing is left of them. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#refuseWaiting();
    await Promise.all(this.#workers.map((worker) => worker.close()));
  }

  #next(): void {
    while (this.#giveOne());
    if (this.#queue.size > 0) this.#startIfNeeded();
  }

  /** @returns whether another one may follow */
  #giveOne(): boolean {
    const idle = this.#workers.find(({ isReady, active }) => isReady && active === undefined);
    if (idle === undefined) return false;
    const isRoomForSlow = this.#workers.some(
      (other) => other !== idle && other.isReady && !this.#isSlow(other.active),
    );
    const nowMs = monotonicMs();
    const next = this.#queue.take(
      (waiting) => nowMs - waiting.sinceMs > MAX_WAIT_MS || isRoomForSlow || !this.#isSlow(waiting),
    );
    if (next === undefined) return false;
    if (nowMs - next.sinceMs > MAX_WAIT_MS) next.settle({ kind: 'busy' });
    else this.#give(idle, next);
    return true;
  }

  #give(worker: ValidationWorker<QueuedCheck>, next: QueuedCheck): void {
    const watch = after(SLOW_MS, () => {
      given.isLate = true;
      this.#next();
    });
    const settle = (outcome: LinkOutcome, cpuMs = 0): void => {
      watch.cancel();
      // A busy machine makes any check late.
      const isSlow = cpuMs > SLOW_MS || outcome.kind === 'overrun';
      if (isSlow) this.#slow.set(next.pair, monotonicMs() + SLOW_FOR_MS);
      next.settle(outcome);
    };
    const given: QueuedCheck = { ...next, settle };
    worker.run(given);
  }

  /** Those that wait need a process: the first one, or another where slow checks keep one busy or wait. */
  #startIfNeeded(): void {
    if (this.#isClosed) return;
    const up = this.#workers.filter(({ isUp }) => isUp);
    const isEnough = up.some(
      ({ isReady, active }) => !isReady || (active !== undefined && !this.#isSlow(active)),
    );
    if (!isEnough) this.#workers.find(({ isUp }) => !isUp)?.start();
  }

  #isSlow(waiting: QueuedCheck | undefined): boolean {
    if (waiting === undefined) return false;
    return waiting.isLate || (this.#slow.get(waiting.pair) ?? 0) > monotonicMs();
  }

  #refuseWaiting(): void {
    for (const waiting of this.#queue.all()) {
      this.#queue.remove(waiting);
      waiting.settle({ kind: 'busy' });
    }
  }
}
