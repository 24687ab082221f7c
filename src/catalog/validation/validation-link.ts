// The queue for the validation processes. Callers take turns. After a slow check, checks of the same caller
// and server count as slow for a while. Slow checks use only one of the two processes, so the other one is
// left for all others. The second process is started at the first slow check.
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
/** A check that costs more is slow. One that runs for longer is treated as slow meanwhile. */
const SLOW_MS = 100;
const SLOW_FOR_MS = 60_000;
/** The most pairs of caller and server that count as slow. */
const MAX_SLOW = 10_000;

/** Whose call is checked, and of which server. */
export interface CheckFor {
  readonly caller: QueueOwner;
  readonly server: string;
}

interface QueuedCheck extends PendingCheck, Queued<QueueOwner> {
  readonly pair: string;
  readonly sinceMs: number;
  /** Whether it already takes longer than a quick check. */
  isLate: boolean;
}

/** The queue and the processes. */
export class ValidationLink {
  readonly #queue = new FairQueue<QueueOwner, QueuedCheck>(MAX_WAITING, ({ settle }) => {
    settle({ kind: 'busy' });
  });
  readonly #workers: readonly ValidationWorker<QueuedCheck>[];
  /** Until when checks count as slow, by caller and server, in monotonic milliseconds. */
  readonly #slow = new RecentMap<string, number>(MAX_SLOW);
  #isClosed = false;

  /** @param limitMs how long one job may take, in milliseconds, including compiling the schema */
  constructor(limitMs: number) {
    const events = { changed: () => this.#next(), startFailed: () => this.#refuseWaiting() };
    this.#workers = [1, 2].map(() => new ValidationWorker<QueuedCheck>(limitMs, events));
  }

  /** Runs a job. Always resolves. */
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

  /** Ends the processes. Resolves when they are gone. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#refuseWaiting();
    await Promise.all(this.#workers.map((worker) => worker.close()));
  }

  #next(): void {
    while (this.#giveOne());
    if (this.#queue.size > 0) this.#startIfNeeded();
  }

  /** @returns whether another job may be started */
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
      // On a busy machine any check takes long, so CPU time is compared.
      const isSlow = cpuMs > SLOW_MS || outcome.kind === 'overrun';
      if (isSlow) this.#slow.set(next.pair, monotonicMs() + SLOW_FOR_MS);
      next.settle(outcome);
    };
    const given: QueuedCheck = { ...next, settle };
    worker.run(given);
  }

  /**
   * Starts a process if checks wait and none is free: the first one, or a second one because of slow checks.
   */
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
