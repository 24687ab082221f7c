// The victim: another principal that calls a small tool at a steady pace, in a process of its own. It is
// told over IPC what to do.
//
// A call that starts late since the one before took long is counted from when it should have started. And
// the clock that it goes by stands still while one of the three processes that a call goes through
// (this one, the gateway, the server) waits for a processor, so that it can be measured on a busy machine.
import { setTimeout as delay } from 'node:timers/promises';
import { HttpConnection } from '../bench/http-connection.ts';
import { McpClient } from '../bench/mcp-client.ts';
import { median, percentile } from '../bench/statistics.ts';
import type { Endpoint } from '../bench/wire-text.ts';
import { SMALL } from '../bench/work.ts';
import { mainThread, monotonicMs } from './probe.ts';

/** What the harness says. */
export type VictimJob =
  | { readonly kind: 'open'; readonly endpoint: Endpoint; readonly pids: readonly number[] }
  | { readonly kind: 'start' }
  /** Ends the series and asks for it. */
  | { readonly kind: 'end' };

/** How the calls went. */
export interface Series {
  readonly calls: number;
  /** Refused, wrong, or without an answer in a minute. They count as endless. */
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The median of the p99 of 100 calls: what one moment on a busy machine does not change. */
  readonly steadyP99Ms: number;
  /** By the plain clock. */
  readonly wallP99Ms: number;
  readonly failure: string | undefined;
}
export type VictimReply =
  | { readonly ok: true; readonly series?: Series }
  | { readonly ok: false; readonly error: string };

const PERIOD_MS = 10;
const SLICE_CALLS = 100;
const CALL_TIMEOUT_MS = 60_000;
const CLOSE_LIMIT_MS = 2_000;
/** So that the code is compiled that is measured. */
const WARM_UP_CALLS = 1_000;
const TOOL = 'echo';

let connection: HttpConnection | undefined;
let client: McpClient | undefined;
let pids: readonly number[] = [];
let current: Promise<Series> | undefined;
let isOver = false;

/** How long the three have waited for a processor. */
function waitedMs(): number {
  let waited = 0;
  for (const pid of pids) {
    try {
      waited += mainThread(pid).waitedMs;
    } catch {
      // It has ended.
    }
  }
  return waited;
}

/** Milliseconds, without those in which somebody waited for a processor. */
function fairMs(): number {
  return monotonicMs() - waitedMs();
}

class Calls {
  readonly #fair: number[] = [];
  readonly #wall: number[] = [];
  #failed = 0;
  #failure: string | undefined;

  took(fairFor: number, wallFor: number): void {
    // Two processes may have waited at the same time, which is counted twice.
    this.#fair.push(Math.max(0.01, fairFor));
    this.#wall.push(wallFor);
  }

  failed(error: unknown): void {
    this.#failed += 1;
    this.#failure ??= error instanceof Error ? error.message : String(error);
    this.#fair.push(Number.POSITIVE_INFINITY);
    this.#wall.push(Number.POSITIVE_INFINITY);
  }

  series(): Series {
    return {
      calls: this.#fair.length,
      failed: this.#failed,
      p50Ms: percentile(this.#fair, 0.5),
      p99Ms: percentile(this.#fair, 0.99),
      steadyP99Ms: steadyP99(this.#fair),
      wallP99Ms: percentile(this.#wall, 0.99),
      failure: this.#failure,
    };
  }
}

function steadyP99(samples: readonly number[]): number {
  const slices: number[] = [];
  for (let at = 0; at < samples.length; at += SLICE_CALLS) {
    slices.push(percentile(samples.slice(at, at + SLICE_CALLS), 0.99));
  }
  return median(slices);
}

async function run(mcp: McpClient): Promise<Series> {
  const calls = new Calls();
  const over = new Promise<void>((resolve) => {
    stop = resolve;
  });
  let due = fairMs();
  let pending = false;
  let waitedBefore = 0;
  const took = (): void => {
    const fair = fairMs() - due;
    calls.took(fair, fair + waitedMs() - waitedBefore);
  };
  const callOnce = async (): Promise<void> => {
    pending = true;
    waitedBefore = waitedMs();
    try {
      await mcp.perform(SMALL);
      if (!isOver) took();
    } catch (error) {
      if (!isOver) calls.failed(error);
      connection?.close();
      await delay(PERIOD_MS);
    }
    pending = false;
  };
  while (!isOver) {
    const early = due - fairMs();
    if (early > 0) {
      await delay(Math.ceil(early));
    } else {
      await Promise.race([callOnce(), over]);
      if (!isOver) due += PERIOD_MS;
    }
  }
  // The one that has no answer yet, and those that should have begun by now.
  for (; pending && due < fairMs(); due += PERIOD_MS) took();
  return calls.series();
}

let stop: () => void = () => undefined;

async function perform(job: VictimJob): Promise<VictimReply> {
  switch (job.kind) {
    case 'open':
      await Promise.race([client?.close(), delay(CLOSE_LIMIT_MS)]);
      connection?.close();
      connection = new HttpConnection(job.endpoint.port, CALL_TIMEOUT_MS);
      client = new McpClient(job.endpoint, TOOL, connection);
      pids = [process.pid, ...job.pids];
      await client.open();
      for (let n = 0; n < WARM_UP_CALLS; n += 1) await client.perform(SMALL);
      return { ok: true };
    case 'start': {
      if (client === undefined) throw new Error('open comes first');
      isOver = false;
      current = run(client);
      return { ok: true };
    }
    case 'end': {
      isOver = true;
      stop();
      const series = await current;
      return series === undefined ? { ok: true } : { ok: true, series };
    }
  }
}

process.on('message', (job: VictimJob) => {
  void perform(job)
    .catch((error: unknown): VictimReply => ({ ok: false, error: String(error) }))
    .then((reply) => process.send?.(reply));
});
process.on('disconnect', () => process.exit(0));
