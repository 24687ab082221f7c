// The victim: another principal that calls a small tool at a steady pace, in a process of its own. It is
// told over IPC what to do.
//
// Calls begin at their time, whether the ones before were answered or not; where too many are in flight,
// a call is counted from when it should have begun. Time in which the gateway, the server or this process
// waited for a processor is left out, so that it can be measured on a busy machine.
import { setTimeout as delay } from 'node:timers/promises';
import { HttpConnection } from '../bench/http-connection.ts';
import { McpClient } from '../bench/mcp-client.ts';
import { median, percentile } from '../bench/statistics.ts';
import type { Endpoint } from '../bench/wire-text.ts';
import { SMALL } from '../bench/work.ts';
import { goFirst } from './priority.ts';
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
/** That many calls are in flight at most. */
const CLIENTS = 20;
/** Of each, so that the code is compiled that is measured. */
const WARM_UP_CALLS = 50;
const TOOL = 'echo';
const NOWHERE = { cpuMs: 0, waitedMs: 0 };

/** A session with a connection of its own, one call at a time. */
class Client {
  readonly #connection: HttpConnection;
  readonly #mcp: McpClient;

  constructor(endpoint: Endpoint) {
    this.#connection = new HttpConnection(endpoint.port, CALL_TIMEOUT_MS);
    this.#mcp = new McpClient(endpoint, TOOL, this.#connection);
  }

  async open(): Promise<void> {
    await this.#mcp.open();
    for (let n = 0; n < WARM_UP_CALLS; n += 1) await this.#mcp.perform(SMALL);
  }

  /** @returns what went wrong */
  async call(): Promise<unknown> {
    try {
      await this.#mcp.perform(SMALL);
      return undefined;
    } catch (error) {
      this.#connection.close();
      // Whoever is refused at once does not come back at once.
      await delay(PERIOD_MS);
      return error;
    }
  }

  /** Ends the session unless that takes long. */
  async close(): Promise<void> {
    await Promise.race([this.#mcp.close(), delay(CLOSE_LIMIT_MS)]);
    this.#connection.close();
  }
}

let clients: readonly Client[] = [];
/** Those without a call in flight: of a series that has ended some may be. */
let idle: Client[] = [];
/** The gateway, the server, this process. */
let pids: readonly number[] = [];
const lastSeen = new Map<number, typeof NOWHERE>();
let current: SteadyCalls | undefined;

/** How far the processes were at one moment that a call goes through. */
interface Moment {
  readonly wallMs: number;
  /** CPU time of the gateway. */
  readonly cpuMs: number;
  /** How long the gateway has waited for a processor. */
  readonly waitedMs: number;
  /** How long the server and this process have. */
  readonly othersWaitedMs: number;
}

function now(): Moment {
  const [gateway, ...others] = pids.map(threadOf);
  const othersWaitedMs = others.reduce((sum, { waitedMs }) => sum + waitedMs, 0);
  const { cpuMs, waitedMs } = gateway ?? NOWHERE;
  return { wallMs: monotonicMs(), cpuMs, waitedMs, othersWaitedMs };
}

function threadOf(pid: number): typeof NOWHERE {
  try {
    const thread = mainThread(pid);
    lastSeen.set(pid, thread);
    return thread;
  } catch {
    // It has ended.
    return lastSeen.get(pid) ?? NOWHERE;
  }
}

/**
 * How long a call took, without the time in which somebody waited for a processor: what the gateway worked
 * since, for whomever, and what it slept while nobody else could be blamed for that.
 */
function fairMsSince(begin: Moment): number {
  const end = now();
  const worked = end.cpuMs - begin.cpuMs;
  const slept = end.wallMs - begin.wallMs - worked - (end.waitedMs - begin.waitedMs);
  return worked + Math.max(0, slept - (end.othersWaitedMs - begin.othersWaitedMs));
}

class Calls {
  readonly #fair: number[] = [];
  readonly #wall: number[] = [];
  #failed = 0;
  #failure: string | undefined;

  tookSince(begin: Moment): void {
    this.#fair.push(fairMsSince(begin));
    this.#wall.push(monotonicMs() - begin.wallMs);
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

/** Calls at a steady pace, each by a client that has nothing to do. */
class SteadyCalls {
  readonly #calls = new Calls();
  readonly #idle: Client[];
  /** Of calls that wait for a client, and of those in flight. */
  readonly #waiting: Moment[] = [];
  readonly #inFlight = new Set<Moment>();
  #timer: NodeJS.Timeout;

  /** @param callers those that have nothing to do; they are taken out, and come back */
  constructor(callers: Client[]) {
    this.#idle = callers;
    this.#timer = setInterval(() => this.#begin(), PERIOD_MS);
  }

  /** Calls that have no answer yet have taken so long at least. */
  end(): Series {
    clearInterval(this.#timer);
    for (const moment of [...this.#inFlight, ...this.#waiting]) this.#calls.tookSince(moment);
    this.#inFlight.clear();
    this.#waiting.length = 0;
    return this.#calls.series();
  }

  #begin(): void {
    this.#waiting.push(now());
    const client = this.#idle.pop();
    if (client !== undefined) void this.#callAgain(client);
  }

  async #callAgain(client: Client): Promise<void> {
    for (let begin = this.#waiting.shift(); begin !== undefined; begin = this.#waiting.shift()) {
      this.#inFlight.add(begin);
      const failure = await client.call();
      // Otherwise it is over, and this one was counted.
      if (this.#inFlight.delete(begin)) {
        if (failure === undefined) this.#calls.tookSince(begin);
        else this.#calls.failed(failure);
      }
    }
    this.#idle.push(client);
  }
}

async function perform(job: VictimJob): Promise<VictimReply> {
  switch (job.kind) {
    case 'open':
      await Promise.all(clients.map((client) => client.close()));
      clients = Array.from({ length: CLIENTS }, () => new Client(job.endpoint));
      pids = [...job.pids, process.pid];
      await Promise.all(clients.map((client) => client.open()));
      idle = [...clients];
      return { ok: true };
    case 'start':
      current = new SteadyCalls(idle);
      return { ok: true };
    case 'end': {
      const series = current?.end();
      current = undefined;
      return series === undefined ? { ok: true } : { ok: true, series };
    }
  }
}

goFirst(process.pid);
process.on('message', (job: VictimJob) => {
  void perform(job)
    .catch((error: unknown): VictimReply => ({ ok: false, error: String(error) }))
    .then((reply) => process.send?.(reply));
});
process.on('disconnect', () => process.exit(0));
