// The validation process as the gateway sees it: started when it is first needed, given one job at a
// time, killed and replaced when a job takes longer than it may. Owns the queue of jobs.
import { type ChildProcess, fork } from 'node:child_process';
import { after, afterInput, monotonicMs, type Timer } from '../../base/clock.ts';
import { type JobOutcome, READY, sourceBeside, type ValidationJob } from './jobs.ts';

const START_LIMIT_MS = 30_000;
const MAX_WAITING = 1_000;
const MAX_WAIT_MS = 10_000;
const HEAP_MIB = 128;
/** How Node ends when its heap is full. */
const ABORTED = 'SIGABRT';

/** `busy`: there was no room or no time for the job, or the process can't be started. */
export type LinkOutcome = JobOutcome | { readonly kind: 'busy' };

/** A job and who waits for it. */
interface Waiting {
  readonly job: ValidationJob;
  readonly sinceMs: number;
  readonly settle: (outcome: LinkOutcome) => void;
}

/** The way to the process. */
export class ValidationLink {
  readonly #limitMs: number;
  readonly #waiting: Waiting[] = [];
  readonly #endings = new Set<Promise<void>>();
  #active: Waiting | undefined;
  #child: ChildProcess | undefined;
  #isReady = false;
  #isClosed = false;
  #timer: Timer | undefined;

  /** @param limitMs how long one job may take, the compiling of its schema included */
  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  /** Runs a job; always resolves. */
  run(job: ValidationJob): Promise<LinkOutcome> {
    if (this.#isClosed || this.#waiting.length >= MAX_WAITING) {
      return Promise.resolve({ kind: 'busy' });
    }
    return new Promise((settle) => {
      this.#waiting.push({ job, sinceMs: monotonicMs(), settle });
      this.#next();
    });
  }

  /** Ends the process; resolves when nothing is left of it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#drop();
    this.#settleActive({ kind: 'busy' });
    this.#refuseWaiting();
    await Promise.all(this.#endings);
  }

  #next(): void {
    if (this.#active !== undefined || this.#waiting.length === 0) return;
    const child = this.#child ?? this.#start();
    if (!this.#isReady) return;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    if (monotonicMs() - next.sinceMs > MAX_WAIT_MS) {
      next.settle({ kind: 'busy' });
      this.#next();
      return;
    }
    this.#active = next;
    this.#timer = after(this.#limitMs, () => this.#expire(next));
    // What goes wrong here is told by `exit`.
    child.send(next.job, () => undefined);
  }

  #start(): ChildProcess {
    const child = fork(sourceBeside(import.meta.url, 'validation-process'), [], {
      execArgv: [`--max-old-space-size=${HEAP_MIB}`, '--disable-sigusr1'],
      env: {},
      // What Node prints when it runs out of memory helps nobody.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      serialization: 'advanced',
    });
    child.unref();
    child.channel?.unref();
    this.#child = child;
    this.#timer = after(START_LIMIT_MS, () => this.#lost(child, undefined));
    child.on('message', (message) => {
      if (child !== this.#child) return;
      this.#timer?.cancel();
      if (message === READY) this.#isReady = true;
      else this.#settleActive(message as JobOutcome);
      this.#next();
    });
    child.on('error', () => this.#lost(child, undefined));
    child.on('exit', (_code, signal) => this.#lost(child, signal));
    return child;
  }

  /** The answer may be there already, unread because the gateway itself was busy. */
  #expire(job: Waiting): void {
    afterInput(() => {
      if (this.#active !== job) return;
      this.#drop();
      this.#settleActive({ kind: 'overrun', what: 'time' });
      this.#next();
    });
  }

  #lost(child: ChildProcess, signal: string | null | undefined): void {
    if (child !== this.#child) return;
    const wasReady = this.#isReady;
    this.#drop();
    const isFull = signal === ABORTED;
    this.#settleActive(isFull ? { kind: 'overrun', what: 'memory' } : { kind: 'busy' });
    if (wasReady) this.#next();
    // One that doesn't even start would not start for the next job either.
    else this.#refuseWaiting();
  }

  #drop(): void {
    this.#timer?.cancel();
    const child = this.#child;
    this.#child = undefined;
    this.#isReady = false;
    // Without a pid it never was, and has no end either.
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ending = new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
    }).finally(() => this.#endings.delete(ending));
    this.#endings.add(ending);
    child.ref();
    child.kill('SIGKILL');
  }

  #settleActive(outcome: LinkOutcome): void {
    const active = this.#active;
    this.#active = undefined;
    active?.settle(outcome);
  }

  #refuseWaiting(): void {
    for (const { settle } of this.#waiting.splice(0)) settle({ kind: 'busy' });
  }
}
