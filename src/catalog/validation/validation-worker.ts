// One validation process, seen from the gateway. It gets one job at a time, is killed when a job takes too
// long, and is started again on demand.
import { type ChildProcess, fork } from 'node:child_process';
import { after, afterInput, type Timer } from '../../base/clock.ts';
import {
  type JobOutcome,
  type JobReport,
  READY,
  sourceBeside,
  type ValidationJob,
} from './jobs.ts';

const START_LIMIT_MS = 30_000;
const HEAP_MIB = 128;
/** How Node ends when its heap is full. */
const ABORTED = 'SIGABRT';

/** `busy`: there was no room or no time for the job, or the process could not be started. */
export type LinkOutcome = JobOutcome | { readonly kind: 'busy' };

/** A job, and its caller. */
export interface PendingCheck {
  readonly job: ValidationJob;
  /** @param cpuMs CPU time of the job, if it is known */
  readonly settle: (outcome: LinkOutcome, cpuMs?: number) => void;
}

/** Called about the process. */
export interface WorkerEvents {
  /** It can take a job now, or must be started. */
  changed(): void;
  /** It ended before it was ready. */
  startFailed(): void;
}

/** One process, or none at the moment. */
export class ValidationWorker<P extends PendingCheck> {
  readonly #limitMs: number;
  readonly #events: WorkerEvents;
  readonly #endings = new Set<Promise<void>>();
  #active: P | undefined;
  #child: ChildProcess | undefined;
  #isReady = false;
  #timer: Timer | undefined;

  /** @param limitMs how long one job may take, in milliseconds, including compiling the schema */
  constructor(limitMs: number, events: WorkerEvents) {
    this.#limitMs = limitMs;
    this.#events = events;
  }

  /** Whether there is a process, ready or not. */
  get isUp(): boolean {
    return this.#child !== undefined;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** The running job. */
  get active(): P | undefined {
    return this.#active;
  }

  /** Gives it a job. It must be ready and have no job. */
  run(pending: P): void {
    this.#active = pending;
    this.#timer = after(this.#limitMs, () => this.#expire(pending));
    // A failure is followed by `exit`.
    this.#child?.send(pending.job, () => undefined);
  }

  /** Starts the process. */
  start(): void {
    const child = fork(sourceBeside(import.meta.url, 'validation-process'), [], {
      execArgv: [`--max-old-space-size=${HEAP_MIB}`, '--disable-sigusr1'],
      env: {},
      // What Node prints when it runs out of memory is of no use.
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
      else this.#report(message as JobReport);
      this.#events.changed();
    });
    child.on('error', () => this.#lost(child, undefined));
    child.on('exit', (_code, signal) => this.#lost(child, signal));
  }

  /** Ends the process. Resolves when it is gone. */
  async close(): Promise<void> {
    this.#drop();
    this.#settle({ kind: 'busy' });
    await Promise.all(this.#endings);
  }

  /** The answer may have arrived, but was not read yet because the gateway itself was busy. */
  #expire(pending: P): void {
    afterInput(() => {
      if (this.#active !== pending) return;
      this.#drop();
      this.#settle({ kind: 'overrun', what: 'time' });
      this.#events.changed();
    });
  }

  #lost(child: ChildProcess, signal: string | null | undefined): void {
    if (child !== this.#child) return;
    const wasReady = this.#isReady;
    this.#drop();
    const isFull = signal === ABORTED;
    this.#settle(isFull ? { kind: 'overrun', what: 'memory' } : { kind: 'busy' });
    if (wasReady) this.#events.changed();
    else this.#events.startFailed();
  }

  #drop(): void {
    this.#timer?.cancel();
    const child = this.#child;
    this.#child = undefined;
    this.#isReady = false;
    // Without a pid the process was never started, so it will not exit.
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ending = new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
    }).finally(() => this.#endings.delete(ending));
    this.#endings.add(ending);
    child.ref();
    child.kill('SIGKILL');
  }

  #report({ outcome, cpuMs }: JobReport): void {
    this.#settle(outcome, cpuMs);
  }

  #settle(outcome: LinkOutcome, cpuMs?: number): void {
    const active = this.#active;
    this.#active = undefined;
    active?.settle(outcome, cpuMs);
  }
}
