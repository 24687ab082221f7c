// The probe's end outside of the gateway: reads what the end inside wrote, and what Linux says about the
// process. Works as well while the gateway is in the middle of an endless turn, and after it has died.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const SAMPLE_MS = 25;
const MEBI = 1024 * 1024;

/** A long turn of the event loop. */
export interface Turn {
  /** When it ended. */
  readonly atMs: number;
  /** CPU time of the main thread. */
  readonly cpuMs: number;
  /** On the clock. */
  readonly wallMs: number;
  /** Of that, the main thread waited so long for a processor. */
  readonly waitedMs: number;
  /** Of that, garbage was collected for so long. */
  readonly gcMs: number;
}

/** What was seen in a span of time. */
export interface Observation {
  /** The turn with most CPU time; undefined when none took 10 ms. */
  readonly longest: Turn | undefined;
  /** How many turns took 100 ms of CPU time or more. */
  readonly overLimit: number;
  readonly peakRssMiB: number;
  /** For which part of the time the gateway waited for a processor: 0 on a machine with nothing else to do. */
  readonly waitedShare: number;
}

/** The clock that all processes of the machine share. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}

/** Arguments of Node that have a process report to the files that begin with `prefix`. */
export function probeArgs(prefix: string): string[] {
  const preload = pathToFileURL(join(import.meta.dirname, 'probe-preload.ts')).href;
  return ['--import', `${preload}?${encodeURIComponent(prefix)}`];
}

/** Arguments that have it say as well, in this file, what its longest turn did. */
export function whyArgs(file: string): string[] {
  const preload = pathToFileURL(join(import.meta.dirname, 'why-preload.ts')).href;
  return ['--import', `${preload}?${encodeURIComponent(file)}`];
}

/** CPU time of the main thread of a process and how long it waited for a processor, in ms. */
export function mainThread(pid: number): { readonly cpuMs: number; readonly waitedMs: number } {
  const [cpu, waited] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1').split(' ');
  return { cpuMs: Number(cpu) / 1e6, waitedMs: Number(waited) / 1e6 };
}

/** Memory that a process holds now; 0 when it is gone. */
export function rssMiB(pid: number): number {
  return statusBytes(pid, 'VmRSS') / MEBI;
}

function statusBytes(pid: number, field: string): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/** Observes one gateway. */
export class Probe {
  readonly #pid: number;
  readonly #prefix: string;
  readonly #timer: NodeJS.Timeout;
  #sinceMs = monotonicMs();
  #waitedMs = 0;
  #peakBytes = 0;
  #peakField = 'VmRSS';
  /** The longest turn that was seen before it had ended. */
  #unended: Turn | undefined;

  /** @param prefix as given to probeArgs */
  constructor(pid: number, prefix: string) {
    this.#pid = pid;
    this.#prefix = prefix;
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
  }

  /** Forgets what was. */
  begin(): void {
    this.#sinceMs = monotonicMs();
    this.#peakBytes = 0;
    this.#unended = undefined;
    this.#waitedMs = this.#waited();
    try {
      // Linux forgets the peak as well.
      writeFileSync(`/proc/${this.#pid}/clear_refs`, '5');
      this.#peakField = 'VmHWM';
    } catch {
      // Not allowed, or it is gone: samples must do.
    }
    this.#sample();
  }

  /** What was seen since `begin`. */
  observed(): Observation {
    this.#sample();
    const turns = this.#turns();
    const unended = this.#unended;
    const hasEnded = turns.some((turn) => unended && contains(turn, unended.atMs));
    if (unended !== undefined && !hasEnded) turns.push(unended);
    turns.sort((a, b) => b.cpuMs - a.cpuMs);
    return {
      longest: turns[0],
      overLimit: turns.filter(({ cpuMs }) => cpuMs >= 100).length,
      peakRssMiB: this.#peakBytes / MEBI,
      waitedShare: (this.#waited() - this.#waitedMs) / (monotonicMs() - this.#sinceMs),
    };
  }

  #waited(): number {
    try {
      return mainThread(this.#pid).waitedMs;
    } catch {
      return this.#waitedMs;
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #sample(): void {
    this.#peakBytes = Math.max(this.#peakBytes, statusBytes(this.#pid, this.#peakField));
    try {
      const now = monotonicMs();
      const text = readFileSync(`${this.#prefix}.now`, 'latin1').split(' ');
      const [endMs = now, endCpuMs = 0] = text.map(Number);
      const { cpuMs, waitedMs } = mainThread(this.#pid);
      const spent = cpuMs - endCpuMs;
      if (spent < 50 || spent <= (this.#unended?.cpuMs ?? 0)) return;
      const wallMs = now - endMs;
      this.#unended = { atMs: now, cpuMs: spent, wallMs, waitedMs, gcMs: 0 };
    } catch {
      // It is gone.
    }
  }

  #turns(): Turn[] {
    const lines = readFileSync(`${this.#prefix}.turns`, 'latin1').split('\n').slice(0, -1);
    const parsed = lines.map((line) => {
      const [kind, ...figures] = line.split(' ');
      const [atMs = 0, wallMs = 0, cpuMs = 0, waitedMs = 0] = figures.map(Number);
      return { kind, atMs, wallMs, cpuMs, waitedMs };
    });
    const recent = parsed.filter(({ atMs }) => atMs >= this.#sinceMs);
    const collections = recent.filter(({ kind }) => kind === 'gc');
    return recent
      .filter(({ kind }) => kind === 'turn')
      .map(({ atMs, wallMs, cpuMs, waitedMs }) => {
        const inside = collections.filter((gc) => gc.atMs > atMs - wallMs && gc.atMs <= atMs + 1);
        const gcMs = inside.reduce((sum, gc) => sum + gc.wallMs, 0);
        return { atMs, wallMs, cpuMs, waitedMs, gcMs };
      });
  }
}

function contains({ atMs, wallMs }: Turn, moment: number): boolean {
  return atMs - wallMs <= moment && moment <= atMs;
}
