// The benchmark's end of the load generator: starts it, gives it one job at a time, ends it.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Job, Reply, RunJob, RunResult, Target } from './load.ts';
import { type Shape, SMALL } from './work.ts';

const OPEN_TIMEOUT_MS = 60_000;
const RUN_TIMEOUT_MS = 60_000;

/** One load generator. */
export class LoadProcess {
  readonly #child: ChildProcess = fork(join(import.meta.dirname, 'load.ts'));

  /**
   * Has sessions opened until `clients` are open.
   * @param shape done once by each
   * @throws Error when one is refused
   */
  async open(target: Target, clients: number, shape: Shape): Promise<void> {
    const way = { streams: false, shareConnections: false };
    await this.#ask({ kind: 'open', target, clients, shape, ...way }, OPEN_TIMEOUT_MS);
  }

  /** As `open`, for sessions that rest: they share connections, but may have a stream each. */
  async openResting(target: Target, clients: number, streams: boolean): Promise<void> {
    const way = { shape: SMALL, streams, shareConnections: true };
    await this.#ask({ kind: 'open', target, clients, ...way }, OPEN_TIMEOUT_MS);
  }

  /**
   * One closed loop on the open sessions.
   * @throws Error when a call fails
   */
  async run(job: Omit<RunJob, 'kind'>): Promise<RunResult> {
    const reply = await this.#ask({ ...job, kind: 'run' }, RUN_TIMEOUT_MS + job.durationMs);
    if (reply.run === undefined) throw new Error('the load generator gave no result');
    return reply.run;
  }

  /** Ends the sessions on a target. */
  async close(target: Target): Promise<void> {
    await this.#ask({ kind: 'close', target }, OPEN_TIMEOUT_MS);
  }

  /** Ends the generator and with it its connections. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }

  async #ask(job: Job, timeoutMs: number): Promise<Extract<Reply, { ok: true }>> {
    const limit = AbortSignal.timeout(timeoutMs);
    this.#child.send(job);
    const [reply] = (await once(this.#child, 'message', { signal: limit }).catch(() => {
      throw new Error(`the load generator took more than ${timeoutMs} ms for ${job.kind}`);
    })) as [Reply];
    if (!reply.ok) throw new Error(reply.error);
    return reply;
  }
}
