// One started subject: waits until it listens, counts its processes, measures its memory, and ends it
// with everything it started.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { Dialect, Target } from './load.ts';
import {
  descendantsOf,
  identify,
  isStillRunning,
  type ProcessIdentity,
  sampleProcess,
} from './process-table.ts';
import type { Launch, Subject } from './subjects.ts';

const START_TIMEOUT_MS = 20_000;
const STOP_TIMEOUT_MS = 8_000;
const SETTLE_TIMEOUT_MS = 10_000;
const POLL_MS = 20;
const PLAIN: Dialect = { era: 'legacy', tool: 'echo' };

/** What a gateway holds when it rests. */
export interface Memory {
  readonly rssBytes: number;
  /** Living objects and their buffers. */
  readonly heapBytes: number;
}

const running = new Set<RunningSubject>();
process.on('exit', () => {
  for (const subject of running) subject.kill();
});

/** A subject that listens. */
export class RunningSubject {
  readonly subject: Subject;
  readonly target: Target;
  readonly #child: ChildProcess;
  readonly #heapFile: string;
  readonly #output: () => string;
  readonly #release: Launch['release'];

  private constructor(
    subject: Subject,
    child: ChildProcess,
    target: Target,
    parts: { readonly heapFile: string; readonly release: Launch['release'] },
  ) {
    this.subject = subject;
    this.target = target;
    this.#child = child;
    this.#heapFile = parts.heapFile;
    this.#release = parts.release;
    this.#output = keepTail(child);
    running.add(this);
  }

  /**
   * Starts a subject on a free port.
   * @param scratch a folder for its files
   * @throws Error when it does not listen in time, with the end of what it printed
   */
  static async start(subject: Subject, scratch: string): Promise<RunningSubject> {
    const port = await freePort();
    const heapFile = join(scratch, `heap-${port}`);
    const hook = pathToFileURL(join(import.meta.dirname, 'gc-on-signal.ts')).href;
    const { args, path, dialect = PLAIN, release } = await subject.launch(port, scratch);
    const preload = ['--expose-gc', '--import', `${hook}?${encodeURIComponent(heapFile)}`];
    // Its own process group: a Ctrl-C reaches the benchmark, which then ends the subject in order.
    const child = spawn(process.execPath, [...preload, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    if (child.pid === undefined) throw new Error(`${subject.name} cannot be started`);
    const target = { ...dialect, port, path, pid: child.pid };
    const started = new RunningSubject(subject, child, target, { heapFile, release });
    const listens = await waitUntil(START_TIMEOUT_MS, () =>
      child.exitCode === null ? canConnect(port) : true,
    );
    if (listens && child.exitCode === null) return started;
    await started.stop();
    throw new Error(`${subject.name} does not listen: ${started.#output().slice(-400)}`);
  }

  /** How it ended when it has ended by itself, with its last words; undefined while it runs. */
  obituary(): string | undefined {
    const { exitCode, signalCode } = this.#child;
    if (exitCode === null && signalCode === null) return undefined;
    return `ended with ${signalCode ?? exitCode}: ${this.#output().slice(-400)}`;
  }

  /** How many processes there are because of it, itself included. */
  countProcesses(): number {
    return 1 + descendantsOf(this.target.pid).length;
  }

  /** The memory of all its descendants together, in bytes. */
  childrenRssBytes(): number {
    const sizes = descendantsOf(this.target.pid).map((pid) => sampleProcess(pid).rssBytes);
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  /** Has it collect its garbage and says what is left when that has settled. */
  async restingMemory(): Promise<Memory> {
    for (let pass = 0; pass < 3; pass += 1) {
      rmSync(this.#heapFile, { force: true });
      process.kill(this.target.pid, 'SIGUSR2');
      const isDone = await waitUntil(SETTLE_TIMEOUT_MS, () => existsSync(this.#heapFile));
      if (!isDone) throw new Error(`${this.subject.name} does not collect its garbage`);
    }
    let rssBytes = Number.POSITIVE_INFINITY;
    let calm = 0;
    // Pages are given back by a thread of their own after the collection.
    await waitUntil(SETTLE_TIMEOUT_MS, () => {
      const now = sampleProcess(this.target.pid).rssBytes;
      calm = Math.abs(now - rssBytes) < 64 * 1024 ? calm + 1 : 0;
      rssBytes = now;
      return calm >= 15;
    });
    return { rssBytes, heapBytes: Number(readFileSync(this.#heapFile, 'utf8')) };
  }

  /**
   * Ends it as an operator would, then by force.
   * @returns how many of its processes outlived it by themselves
   */
  async stop(): Promise<number> {
    const family = this.#family();
    this.#child.kill('SIGTERM');
    const hasEnded = () => this.#child.exitCode !== null || this.#child.signalCode !== null;
    await waitUntil(STOP_TIMEOUT_MS, hasEnded);
    await waitUntil(1000, () => !family.some(isStillRunning));
    const left = family.filter(isStillRunning);
    for (const { pid } of left) killQuietly(pid);
    if (!hasEnded()) await once(this.#child, 'exit');
    running.delete(this);
    await this.#release?.();
    return left.length;
  }

  /** Ends everything at once; for the way out of the benchmark. */
  kill(): void {
    for (const { pid } of this.#family()) killQuietly(pid);
  }

  #family(): ProcessIdentity[] {
    const { pid } = this.target;
    return [pid, ...descendantsOf(pid)].flatMap((member) => identify(member) ?? []);
  }
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has just ended by itself.
  }
}

/** Reads what a child prints, so that it never blocks on it, and keeps the end. */
function keepTail(child: ChildProcess): () => string {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (piece: string) => {
      text = (text + piece).slice(-2000);
    });
  }
  return () => text.trim();
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port is free');
  return address.port;
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}

/** Asks again and again; false when the time is over first. */
async function waitUntil(
  timeoutMs: number,
  condition: () => boolean | Promise<boolean>,
): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > end) return false;
    await delay(POLL_MS);
  }
  return true;
}
